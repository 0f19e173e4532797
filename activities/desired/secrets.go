package desired

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// SecretVersion says which access Secret there is, in which version, without its content.
type SecretVersion struct {
	Namespace       string    `json:"namespace"`
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// PullSecret says which version there is of the Secret with which remote clusters pull images.
type PullSecret func(ctx context.Context) (SecretVersion, error)

// Secrets lists the Secrets that decide what is done for a Kyma: its access Secrets, and the image pull Secret where
// it is synchronized and one is configured; pull may be nil otherwise.
func Secrets(ctx context.Context, secrets client.Reader, pull PullSecret, settings Settings, kyma *v1beta2.Kyma) ([]SecretVersion, error) {
	versions, err := AccessSecrets(ctx, secrets, settings, kyma)
	if err != nil || pull == nil || !SyncOf(kyma, settings).Enabled {
		return versions, err
	}
	version, err := pull(ctx)
	if err != nil {
		return nil, err
	}
	return append(versions, version), nil
}

// AccessSecrets lists the access Secrets of a synchronized Kyma, by metadata only: those in its own
// namespace, else those in Settings.AccessSecretNamespace (contract, section 5). More than one is not
// decided here.
func AccessSecrets(ctx context.Context, secrets client.Reader, settings Settings, kyma *v1beta2.Kyma) ([]SecretVersion, error) {
	sync := SyncOf(kyma, settings)
	if !sync.Enabled || sync.Strategy == v1beta2.SyncStrategyLocalClient {
		return nil, nil
	}
	namespaces := []string{kyma.Namespace}
	if other := settings.AccessSecretNamespace; other != "" && other != kyma.Namespace {
		namespaces = append(namespaces, other)
	}
	for _, namespace := range namespaces {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		err := secrets.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{shared.LabelKymaName: kyma.Name})
		if err != nil {
			return nil, fmt.Errorf("list access Secrets of Kyma %s/%s: %w", kyma.Namespace, kyma.Name, err)
		}
		versions := make([]SecretVersion, 0, len(list.Items))
		for i := range list.Items {
			secret := &list.Items[i]
			versions = append(versions, SecretVersion{secret.Namespace, secret.Name, secret.UID, secret.ResourceVersion})
		}
		if len(versions) > 0 {
			slices.SortFunc(versions, func(a, b SecretVersion) int { return cmp.Compare(a.Name, b.Name) })
			return versions, nil
		}
	}
	return nil, nil
}
