package desired

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// SecretVersion identifies a version of a Secret, without its content.
type SecretVersion struct {
	Namespace       string    `json:"namespace"`
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// PullSecret returns the present version of the Secret with which remote clusters pull images.
type PullSecret func(ctx context.Context) (SecretVersion, error)

// AccessSource finds the access Secrets for Kymas of a name in a namespace, sorted by name; *fleet.Fleet implements it.
type AccessSource interface {
	Secrets(ctx context.Context, namespace, kymaName string) ([]SecretVersion, error)
}

// Secrets returns the Secrets that decide what is done for a Kyma: its access Secrets and, if the Kyma is synchronized,
// the image pull Secret. Pull is nil if no image pull Secret is configured.
func Secrets(ctx context.Context, secrets AccessSource, pull PullSecret, settings Settings, kyma *v1beta2.Kyma) ([]SecretVersion, error) {
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

// AccessSecrets returns the access Secrets of a synchronized Kyma, by metadata only: the Secrets in its own namespace,
// else those in Settings.AccessSecretNamespace (docs/contract.md#access). It returns all of them if there are several;
// the caller decides.
func AccessSecrets(ctx context.Context, secrets AccessSource, settings Settings, kyma *v1beta2.Kyma) ([]SecretVersion, error) {
	sync := SyncOf(kyma, settings)
	if !sync.Enabled || sync.Strategy == v1beta2.SyncStrategyLocalClient {
		return nil, nil
	}
	namespaces := []string{kyma.Namespace}
	if other := settings.AccessSecretNamespace; other != "" && other != kyma.Namespace {
		namespaces = append(namespaces, other)
	}
	for _, namespace := range namespaces {
		versions, err := secrets.Secrets(ctx, namespace, kyma.Name)
		if err != nil || len(versions) > 0 {
			return versions, err
		}
	}
	return nil, nil
}
