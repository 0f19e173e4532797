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
	// stateKey has the phases of authorities as JSON in the Secret of authorities. Beside it is each authority's certificate,
	// and where it may still sign, its private key, under its fingerprint.
	stateKey          = "state.json"
	certificateSuffix = ".crt"
	keySuffix         = ".key"
	// maxCached is how old a cached state may be; where the grace period is short, a quarter of that.
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

// record is the Secret of authorities.
type record struct {
	// secret is what was read; nil where there is none.
	secret       *corev1.Secret
	State        rotation.State
	certificates map[string]*x509.Certificate
	keys         map[string][]byte
}

// bundle is whom agents and listener trust.
func (r record) bundle() []byte {
	return pki.Bundle(slices.Collect(maps.Values(r.certificates))...)
}

func (r record) pair(fingerprint string) pki.Pair {
	return pki.Pair{Certificate: pki.Encode(r.certificates[fingerprint]), PrivateKey: r.keys[fingerprint]}
}

// authorities are the certificates, the present authority's first: where two have one key, a certificate is the present one's.
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

// signerOf is the fingerprint of the known authority that a certificate leads to; empty where there is none.
func (r record) signerOf(chain []byte) string {
	if authority := pki.AuthorityOf(chain, r.authorities()); authority != nil {
		return pki.Fingerprint(authority)
	}
	return ""
}

// with is the record with one more authority, which does not sign for us.
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

// load reads the record. Where there is none, it begins with whom the listener trusts: its Secret was made by an earlier
// release or by upstream's, or outlived the record. It is read where it is not given. Beside them it begins with upstream's
// authority, which has signed the certificates of agents that are still to be taken over.
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

// adopt is the record of whom a listener trusts already, and of upstream's authority. Either Secret may be nil.
func (k *keeper) adopt(listener, upstreams *corev1.Secret) record {
	adopted := record{certificates: map[string]*x509.Certificate{}, keys: map[string][]byte{}}
	now := k.Now().UTC().Truncate(time.Second)
	if listener != nil {
		adopted = adopted.withTrusted(listener, now)
	}
	if upstreams == nil {
		return adopted
	}
	// Where the same issuer goes on, it is the authority that comes next. For us it is one of before, as it signs nothing more.
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

// withTrusted is the record with whom a listener trusts.
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
			WithHint("restore it from a backup; where there is none, delete it: whom the listener trusts stays trusted, and another authority is made")
	}
	if err := json.Unmarshal(secret.Data[stateKey], &r.State); err != nil {
		return unreadable("its key " + stateKey + " is no list of authorities")
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

// save writes the record, over the one that was read only. The private key of a former authority is given up.
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

// loadCached is load, or what that found a moment ago.
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

// short is how an authority is called in texts.
func short(fingerprint string) string { return fingerprint[:min(len(fingerprint), 12)] }
