package desired

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

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

// AccessSource names the access Secrets for Kymas of a name in a namespace, ordered by name; *fleet.Fleet does.
type AccessSource interface {
	Secrets(ctx context.Context, namespace, kymaName string) ([]SecretVersion, error)
}

// Secrets lists the Secrets that decide what is done for a Kyma: its access Secrets, and the image pull Secret where
// it is synchronized and one is configured; pull may be nil otherwise.
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

// AccessSecrets lists the access Secrets of a synchronized Kyma, by metadata only: those in its own
// namespace, else those in Settings.AccessSecretNamespace (docs/contract.md#access). More than one is not
// decided here.
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
