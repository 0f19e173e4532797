package clusters

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// checkShared makes sure that an access Secret outside of the Kyma's namespace is for this Kyma. Its label has the
// Kyma's name alone, so with another Kyma of that name it could be for either, unless the other one has a Secret in
// a namespace of its own: then nobody gets it, for a cluster must never be another Kyma's.
//
// It is asked once for each version of the Secret, when access is made of it.
func (r *Registry) checkShared(ctx context.Context, secret *corev1.Secret, kyma types.NamespacedName) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: shared.OperatorGroup, Version: shared.VersionV1Beta2, Kind: shared.KindKyma + "List"})
	if err := r.controlPlane.Client.List(ctx, list, client.MatchingFields{"metadata.name": kyma.Name}); err != nil {
		return fmt.Errorf("list the Kymas named %s: %w", kyma.Name, err)
	}
	var others []string
	for i := range list.Items {
		other := &list.Items[i]
		if other.Name != kyma.Name || other.Namespace == kyma.Namespace || desired.IsSyncedCopy(other) {
			continue
		}
		if other.Namespace != secret.Namespace {
			own, err := r.secretsIn(ctx, other.Namespace, kyma.Name)
			if err != nil {
				return fmt.Errorf("list the access Secrets of Kyma %s/%s: %w", other.Namespace, other.Name, err)
			}
			if len(own.Items) > 0 {
				continue
			}
		}
		others = append(others, other.Namespace+"/"+other.Name)
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return fault.New(fault.Rejected, ReasonAccessSecretAmbiguous,
		"access secret %s/%s may be for Kyma %s or for %s: with Kymas of one name in several namespaces, each needs its Secret in its own namespace",
		secret.Namespace, secret.Name, kyma, strings.Join(others, ", "))
}
