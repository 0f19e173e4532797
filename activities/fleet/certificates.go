package fleet

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
)

// AgentCertificate is the version of the certificate of the agent of a Kyma of this name, as the informer of Secrets knows
// it: another one once it is time to renew it, which the annotation renew says (RFC 3339). It has no uid where there is none.
func (f *Fleet) AgentCertificate(ctx context.Context, namespace, kyma, renew string, now time.Time) (desired.SecretVersion, error) {
	key := types.NamespacedName{Namespace: namespace, Name: desired.CertificateName(kyma)}
	version := desired.SecretVersion{Namespace: key.Namespace, Name: key.Name}
	secret := SecretMetadata()
	err := f.known.Get(ctx, key, secret)
	if err != nil {
		return version, client.IgnoreNotFound(fmt.Errorf("find the certificate of the agent, Secret %s: %w", key, err))
	}
	version.UID, version.ResourceVersion = secret.UID, secret.ResourceVersion
	if at, err := time.Parse(time.RFC3339, secret.Annotations[renew]); err == nil && !now.Before(at) {
		version.ResourceVersion += ", to be renewed"
	}
	return version, nil
}
