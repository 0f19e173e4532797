package certificates

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/rotation"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const (
	// stateKey holds the phases of authorities as JSON in the Secret of authorities. Next to it are each authority's
	// certificate and, if the authority may still sign, its private key, under its fingerprint.
	stateKey          = "state.json"
	certificateSuffix = ".crt"
	keySuffix         = ".key"
	// maxCached is the maximum age of a cached state. If the grace period is short, the maximum age is a quarter of it.
	maxCached = 10 * time.Second
)

// keeper keeps the authorities that agents and listener trust.
type keeper struct {
	Options
	mu       sync.Mutex
	cached   record
	cachedAt time.Time
}

func newKeeper(o Options) *keeper { return &keeper{Options: o.withDefaults()} }

// record is the content of the Secret of authorities.
type record struct {
	// secret is the Secret as it was read; nil if it does not exist.
	secret       *corev1.Secret
	State        rotation.State
	certificates map[string]*x509.Certificate
	keys         map[string][]byte
}

// bundle returns the authorities that agents and listener trust, in PEM.
func (r record) bundle() []byte {
	return pki.Bundle(slices.Collect(maps.Values(r.certificates))...)
}

func (r record) pair(fingerprint string) pki.Pair {
	return pki.Pair{Certificate: pki.Encode(r.certificates[fingerprint]), PrivateKey: r.keys[fingerprint]}
}

// authorities returns the certificates of the authorities, the present authority's first. If two authorities have the
// same key, a certificate thus counts as the present authority's.
func (r record) authorities() []*x509.Certificate {
	var all []*x509.Certificate
	for _, phase := range []rotation.Phase{rotation.Present, rotation.Next, rotation.Former} {
		for _, a := range r.State {
			if a.Phase == phase {
				all = append(all, r.certificates[a.Fingerprint])
			}
		}
	}
	return all
}

// signerOf returns the fingerprint of the known authority that a certificate chain leads to; empty if there is none.
func (r record) signerOf(chain []byte) string {
	if authority := pki.AuthorityOf(chain, r.authorities()); authority != nil {
		return pki.Fingerprint(authority)
	}
	return ""
}

// with returns the record with one more authority, which does not sign for us.
func (r record) with(authority *x509.Certificate, phase rotation.Phase, trusted, now time.Time) record {
	fingerprint := pki.Fingerprint(authority)
	now = now.UTC().Truncate(time.Second)
	r.State = append(slices.Clone(r.State), rotation.Authority{
		Fingerprint: fingerprint, Phase: phase, Since: now, NotAfter: authority.NotAfter.UTC(), Trusted: trusted,
	})
	r.certificates = maps.Clone(r.certificates)
	r.certificates[fingerprint] = authority
	return r
}

// load reads the record. If there is none, the record starts with the authorities that the listener trusts: its
// Secret was created by an earlier release or by upstream, or outlived the record. load reads the listener's Secret
// if listener is nil. The record also starts with upstream's authority, because it has signed the certificates of
// agents that have not been taken over yet.
func (k *keeper) load(ctx context.Context, listener *corev1.Secret) (record, error) {
	secret, err := k.getSecret(ctx, AuthoritySecret)
	if err != nil {
		return record{}, err
	}
	if secret != nil {
		return decode(secret)
	}
	if listener == nil {
		if listener, err = k.getSecret(ctx, k.ListenerSecret); err != nil {
			return record{}, err
		}
	}
	upstreams, err := k.getSecret(ctx, UpstreamAuthoritySecret)
	if err != nil {
		return record{}, err
	}
	return k.adopt(listener, upstreams), nil
}

// adopt returns a record of the authorities that a listener already trusts, and of upstream's authority. Either
// Secret may be nil.
func (k *keeper) adopt(listener, upstreams *corev1.Secret) record {
	adopted := record{certificates: map[string]*x509.Certificate{}, keys: map[string][]byte{}}
	now := k.Now().UTC().Truncate(time.Second)
	if listener != nil {
		adopted = adopted.withTrusted(listener, now)
	}
	if upstreams == nil {
		return adopted
	}
	// If the same issuer continues, upstream's authority is the next one. If we sign ourselves, it is a former one,
	// because it signs nothing any more.
	phase := rotation.Next
	if k.Management == SelfManaged {
		phase = rotation.Former
	}
	for _, key := range []string{shared.CertificateAuthorityKey, shared.CertificateKey} {
		for _, authority := range pki.Parse(upstreams.Data[key]) {
			if _, has := adopted.certificates[pki.Fingerprint(authority)]; !has && authority.IsCA && now.Before(authority.NotAfter) {
				adopted = adopted.with(authority, phase, time.Time{}, now)
			}
		}
	}
	return adopted
}

// withTrusted returns the record with the authorities that a listener trusts.
func (r record) withTrusted(listener *corev1.Secret, now time.Time) record {
	authorities := pki.Parse(listener.Data[shared.CertificateAuthorityKey])
	signer := pki.AuthorityOf(listener.Data[shared.CertificateKey], authorities)
	for _, authority := range authorities {
		if _, has := r.certificates[pki.Fingerprint(authority)]; has {
			continue
		}
		phase := rotation.Former
		if signer != nil && authority.Equal(signer) {
			phase = rotation.Present
		}
		r = r.with(authority, phase, now, now)
	}
	return r
}

func decode(secret *corev1.Secret) (record, error) {
	r := record{secret: secret, certificates: map[string]*x509.Certificate{}, keys: map[string][]byte{}}
	unreadable := func(what string) (record, error) {
		return record{}, fault.New(fault.Rejected, ReasonUnreadable, "Secret %s/%s: %s", secret.Namespace, secret.Name, what).
			WithHint("restore the Secret from a backup; without a backup, delete it: the listener's authorities stay trusted, and a new authority is created")
	}
	if err := json.Unmarshal(secret.Data[stateKey], &r.State); err != nil {
		return unreadable("its key " + stateKey + " is not a list of authorities")
	}
	for _, a := range r.State {
		found := pki.Parse(secret.Data[a.Fingerprint+certificateSuffix])
		if len(found) != 1 || pki.Fingerprint(found[0]) != a.Fingerprint {
			return unreadable("it does not have the certificate of authority " + short(a.Fingerprint))
		}
		r.certificates[a.Fingerprint] = found[0]
		if !a.Signs || a.Phase == rotation.Former {
			continue
		}
		r.keys[a.Fingerprint] = secret.Data[a.Fingerprint+keySuffix]
		if _, err := r.pair(a.Fingerprint).Leaf(); err != nil {
			return unreadable("it does not have the private key of authority " + short(a.Fingerprint))
		}
	}
	return r, nil
}

// save writes the record, provided that the Secret has not changed since it was read. It removes the private keys of
// former authorities.
func (k *keeper) save(ctx context.Context, r record) error {
	secret := &corev1.Secret{ObjectMeta: objectMeta(k.Namespace, AuthoritySecret), Type: corev1.SecretTypeOpaque}
	if r.secret != nil {
		secret = r.secret.DeepCopy()
	}
	state, err := json.Marshal(r.State)
	if err != nil {
		return err
	}
	secret.Labels = merged(secret.Labels, map[string]string{shared.LabelManagedBy: k.ManagedBy})
	secret.Data = map[string][]byte{stateKey: state, shared.CertificateAuthorityKey: r.bundle()}
	for _, a := range r.State {
		secret.Data[a.Fingerprint+certificateSuffix] = pki.Encode(r.certificates[a.Fingerprint])
		if a.Signs && a.Phase != rotation.Former {
			secret.Data[a.Fingerprint+keySuffix] = r.keys[a.Fingerprint]
		}
	}
	k.forget()
	return k.putSecret(ctx, secret)
}

// loadCached returns the cached record if it is fresh, and calls load otherwise.
func (k *keeper) loadCached(ctx context.Context) (record, error) {
	k.mu.Lock()
	cached, at := k.cached, k.cachedAt
	k.mu.Unlock()
	if age := k.Now().Sub(at); !at.IsZero() && age >= 0 && age < min(maxCached, k.SwitchGracePeriod/4) {
		return cached, nil
	}
	loaded, err := k.load(ctx, nil)
	if err != nil {
		return record{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cached, k.cachedAt = loaded, k.Now()
	return loaded, nil
}

func (k *keeper) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cachedAt = time.Time{}
}

// short returns the name of an authority in texts.
func short(fingerprint string) string { return fingerprint[:min(len(fingerprint), 12)] }
