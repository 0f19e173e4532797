package clusters

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// checkShared verifies that an access Secret outside of the Kyma's namespace belongs to this Kyma. The Secret's label
// contains only the Kyma's name. If another Kyma has the same name, the Secret could belong to either, unless the other
// Kyma has a Secret in its own namespace. In case of doubt neither Kyma gets the Secret, because no Kyma may ever use
// another Kyma's cluster.
//
// checkShared runs once per version of the Secret, when access is made from the Secret.
func (r *Registry) checkShared(ctx context.Context, secret *corev1.Secret, kyma types.NamespacedName) error {
	named, err := r.options.Fleet.KymasNamed(ctx, kyma)
	if err != nil {
		return err
	}
	var others []string
	for _, other := range named {
		if other.GetNamespace() == kyma.Namespace || desired.IsSyncedCopy(other) {
			continue
		}
		if other.GetNamespace() != secret.Namespace {
			own, err := r.options.Fleet.Secrets(ctx, other.GetNamespace(), kyma.Name)
			if err != nil {
				return err
			}
			if len(own) > 0 {
				continue
			}
		}
		others = append(others, other.GetNamespace()+"/"+other.GetName())
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return fault.New(fault.Rejected, ReasonAccessSecretAmbiguous,
		"access secret %s/%s may be for Kyma %s or for %s: with Kymas of one name in several namespaces, each needs its Secret in its own namespace",
		secret.Namespace, secret.Name, kyma, strings.Join(others, ", "))
}
