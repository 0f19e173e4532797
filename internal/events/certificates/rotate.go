package certificates

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/rotation"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Rotation replaces authorities before they expire, and the certificates that they signed.
type Rotation struct {
	*keeper
	// issuer requests the listener's certificate; nil if we sign it.
	issuer *external
}

// New returns a Rotation.
func New(o Options) (*Rotation, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newRotation(o), nil
}

func newRotation(o Options) *Rotation {
	r := &Rotation{keeper: newKeeper(o)}
	if maker := o.Management.maker(); maker != nil {
		r.issuer = &external{r.keeper, maker}
	}
	return r
}

// named returns a Rotation for the names at which agents reach the listener now.
func (r *Rotation) named(ctx context.Context) (*Rotation, error) {
	if r.FindListenerNames == nil {
		return r, nil
	}
	options := r.Options
	var err error
	options.ListenerNames, err = r.FindListenerNames(ctx)
	return newRotation(options), err
}

// Rotated reports what was done, the present state, and when to rotate again. It contains only names, fingerprints
// and times.
type Rotated struct {
	// Next is when to rotate again; zero if nothing is due soon.
	Next time.Time `json:"next,omitzero"`
	// Awaited is true if an external issuer still has to issue the listener's certificate, or if its Certificate is
	// still being deleted. Nobody notifies us when that has finished.
	Awaited bool `json:"awaited,omitempty"`
	// Done lists what was done, in order.
	Done []string `json:"done,omitempty"`
	// Late lists what should have happened by now.
	Late []string `json:"late,omitempty"`
	// Authorities are the trusted authorities.
	Authorities []AuthorityRow `json:"authorities,omitempty"`
	// Listener is the certificate that the listener shows.
	Listener ListenerRow `json:"listener,omitzero"`
}

// AuthorityRow describes an authority for people.
type AuthorityRow struct {
	// Authority is the beginning of the authority's fingerprint.
	Authority string    `json:"authority"`
	Phase     string    `json:"phase"`
	Since     time.Time `json:"since"`
	NotAfter  time.Time `json:"notAfter"`
	// Agents is the number of agents with a certificate of this authority.
	Agents int `json:"agents"`
}

// ListenerRow describes the listener's certificate for people.
type ListenerRow struct {
	Authority string    `json:"authority,omitempty"`
	NotAfter  time.Time `json:"notAfter,omitzero"`
}

// Rotate does everything that can be done now to give agents and listener certificates of the present authority. Each
// step is one write. After each write, agents and listener still accept each other. Rotate lists the certificates of
// the whole fleet once.
func (r *Rotation) Rotate(ctx context.Context) (Rotated, error) {
	now, err := r.named(ctx)
	if err != nil {
		return Rotated{}, err
	}
	return now.rotate(ctx)
}

func (r *Rotation) rotate(ctx context.Context) (Rotated, error) {
	o := observation{}
	var err error
	var missing error
	if r.issuer == nil {
		missing = r.removeOffered(ctx)
	} else if o.offered, missing = r.issuer.offer(ctx); missing != nil && fault.Of(missing).Kind != fault.Pending {
		return Rotated{}, missing
	}
	if o.agents, err = r.countAgents(ctx); err != nil {
		return Rotated{}, err
	}
	settled, err := r.settle(ctx, o)
	if err != nil {
		return Rotated{}, err
	}
	result := r.report(settled, o)
	if missing != nil {
		result.Late = append(result.Late, missing.Error())
		result.Next = r.Now().Add(time.Minute)
		result.Awaited = fault.Of(missing).Kind == fault.Pending
	}
	return result, nil
}

// offer requests the listener's certificate, and returns it if it is issued; otherwise it returns a Pending fault.
func (e external) offer(ctx context.Context) (*corev1.Secret, error) {
	secret, err := e.getSecret(ctx, ListenerCertificateSecret)
	if err != nil {
		return nil, err
	}
	certificate, err := e.request(ctx, secret, "", "", wanted{
		name: ListenerCertificate, secret: ListenerCertificateSecret, commonName: e.listenerCommonName(), names: e.ListenerNames,
		labels: map[string]string{shared.LabelManagedBy: e.ManagedBy, shared.LabelPurpose: PurposeListener},
	})
	if err != nil {
		return nil, err
	}
	if leaf, err := pairOf(secret).Leaf(); err != nil || !pki.HasNames(leaf, e.ListenerNames) {
		return nil, pending("the listener's certificate %s/%s is not issued yet%s", e.Namespace, ListenerCertificate, e.maker.status(certificate))
	}
	if authorityIn(secret) == nil {
		return nil, withoutAuthority(secret)
	}
	return secret, e.mark(ctx, secret, nil, nil)
}

// removeOffered removes the certificate that an external issuer made for the listener before we signed one. Its
// caller continues with the other steps even if the removal fails.
func (k *keeper) removeOffered(ctx context.Context) error {
	secret, err := k.getSecret(ctx, ListenerCertificateSecret)
	if err != nil || secret == nil || secret.Labels[shared.LabelPurpose] != PurposeListener {
		return err
	}
	if err := k.removeCertificates(ctx, makers(secret), ListenerCertificate, "", ""); err != nil {
		return err
	}
	return k.deleteExact(ctx, secret)
}

// listenerCommonName returns a common name for people. Only the names of the certificate matter.
func (o Options) listenerCommonName() string {
	if name := o.ListenerNames[0]; len(name) <= 64 {
		return name
	}
	return ListenerCertificate
}

// maxSteps is more than one rotation needs. The next rotation does remaining steps.
const maxSteps = 20

// settled is the state after everything that could be done.
type settled struct {
	facts
	next time.Time
	done []string
}

// settle carries out the decisions of rotation.Decide until it decides to wait.
func (k *keeper) settle(ctx context.Context, o observation) (settled, error) {
	result := settled{}
	for range maxSteps {
		s, err := k.read(ctx, o)
		if err != nil {
			return result, err
		}
		result.facts = s
		if s.news {
			if err := k.save(ctx, s.record); err != nil {
				return result, err
			}
			result.done = append(result.done, "recorded another authority of the issuer")
			continue
		}
		decision := rotation.Decide(s.observed, k.rules())
		if decision.Kind == rotation.Wait {
			result.next = decision.At
			return result, nil
		}
		done, err := k.carryOut(ctx, s, decision, o)
		if err != nil {
			return result, err
		}
		result.done = append(result.done, done)
	}
	result.next = k.Now()
	return result, nil
}

// carryOut takes one step, which is one write, and returns what it did.
func (k *keeper) carryOut(ctx context.Context, s facts, d rotation.Decision, o observation) (string, error) {
	switch d.Kind {
	case rotation.Create:
		return k.create(ctx, s.record, d)
	case rotation.Publish:
		listener := s.listener.DeepCopy()
		if listener.Data == nil {
			listener.Data = map[string][]byte{}
		}
		listener.Data[shared.CertificateAuthorityKey] = s.record.bundle()
		return fmt.Sprintf("the listener trusts %s", trusted(s.record.State)), k.putSecret(ctx, listener)
	case rotation.Serve:
		return k.serve(ctx, s, o)
	default:
		after := s.record
		after.State = rotation.Apply(after.State, d, rotation.Authority{}, k.Now())
		if d.Kind == rotation.Drop {
			after = after.without(d.Fingerprint)
		}
		return sentence(d), k.save(ctx, after)
	}
}

// create creates an authority of ours. If somebody requested it, the same write removes the request.
func (k *keeper) create(ctx context.Context, r record, d rotation.Decision) (string, error) {
	now := k.Now()
	notAfter := now.Add(k.AuthorityDuration).UTC().Truncate(time.Second)
	pair, err := pki.NewAuthority("klm-watcher "+now.UTC().Format(time.RFC3339), now, notAfter)
	if err != nil {
		return "", err
	}
	authority, err := pair.Leaf()
	if err != nil {
		return "", err
	}
	fingerprint := pki.Fingerprint(authority)
	r.State = rotation.Apply(r.State, d, rotation.Authority{Fingerprint: fingerprint, NotAfter: notAfter, Signs: true}, now)
	r.certificates[fingerprint], r.keys[fingerprint] = authority, pair.PrivateKey
	if r.secret != nil {
		r.secret = r.secret.DeepCopy()
		delete(r.secret.Annotations, AnnotationRotate)
	}
	return fmt.Sprintf("created authority %s, valid until %s", short(fingerprint), notAfter.Format(time.RFC3339)), k.save(ctx, r)
}

// serve gives the listener a certificate of the present authority, signed by us or by an external issuer.
func (k *keeper) serve(ctx context.Context, s facts, o observation) (string, error) {
	present, _ := s.record.State.In(rotation.Present)
	pair := pairOf(o.offered)
	if o.offered == nil {
		key, err := k.newServerKey()
		if err != nil {
			return "", err
		}
		now := k.Now()
		pair, err = s.record.pair(present.Fingerprint).Sign(key, now, pki.Template{
			CommonName: k.listenerCommonName(), Names: k.ListenerNames, NotAfter: now.Add(k.Duration),
		})
		if err != nil {
			return "", err
		}
	}
	listener := &corev1.Secret{ObjectMeta: objectMeta(k.Namespace, k.ListenerSecret), Type: corev1.SecretTypeTLS}
	if s.listener != nil {
		listener = s.listener.DeepCopy()
	}
	listener.Labels = merged(listener.Labels, map[string]string{shared.LabelManagedBy: k.ManagedBy, shared.LabelPurpose: PurposeListener})
	if listener.Data == nil {
		listener.Data = map[string][]byte{}
	}
	listener.Data[shared.CertificateKey], listener.Data[shared.PrivateKeyKey] = pair.Certificate, pair.PrivateKey
	listener.Data[shared.CertificateAuthorityKey] = s.record.bundle()
	leaf, err := pair.Leaf()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the listener has certificate %s of authority %s, valid until %s",
		leaf.SerialNumber.Text(16), short(present.Fingerprint), leaf.NotAfter.UTC().Format(time.RFC3339)), k.putSecret(ctx, listener)
}

// without returns the record without an authority.
func (r record) without(fingerprint string) record {
	r.certificates = maps.Clone(r.certificates)
	delete(r.certificates, fingerprint)
	return r
}

// sentence returns what a step did.
func sentence(d rotation.Decision) string {
	of := short(d.Fingerprint)
	switch d.Kind {
	case rotation.Record:
		return fmt.Sprintf("the listener and new bundles contain authority %s", of)
	case rotation.Unuse:
		return fmt.Sprintf("no agent has a certificate of authority %s anymore", of)
	case rotation.Reuse:
		return fmt.Sprintf("an agent has a certificate of authority %s again", of)
	case rotation.Promote:
		return fmt.Sprintf("authority %s is now the present one", of)
	default:
		return fmt.Sprintf("authority %s is no longer trusted", of)
	}
}

func trusted(state rotation.State) string {
	names := lists.Map(state, func(a rotation.Authority) string { return short(a.Fingerprint) })
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// report returns the result for people.
func (k *keeper) report(s settled, o observation) Rotated {
	result := Rotated{
		Next: s.next.UTC(), Done: s.done,
		Listener: ListenerRow{Authority: short(s.observed.Server.Signer), NotAfter: s.observed.Server.NotAfter.UTC()},
	}
	if s.next.IsZero() {
		result.Next = time.Time{}
	}
	for _, a := range s.observed.State {
		result.Authorities = append(result.Authorities, AuthorityRow{
			Authority: short(a.Fingerprint), Phase: string(a.Phase), Since: a.Since.UTC(), NotAfter: a.NotAfter.UTC(), Agents: o.agents.count[a.Fingerprint],
		})
	}
	for _, late := range rotation.FindLate(s.observed, k.rules(), k.tolerance()) {
		result.Late = append(result.Late, o.agents.lateness(late))
	}
	return result
}

// lateness returns what is late.
func (a *agents) lateness(late rotation.Late) string {
	of := short(late.Fingerprint)
	switch late.What {
	case rotation.NotTrusted:
		return fmt.Sprintf("the listener does not trust authority %s yet", of)
	case rotation.NotPromoted:
		return fmt.Sprintf("authority %s does not sign yet", of)
	case rotation.NotRetired:
		unknown := ""
		if n := a.count[""]; n > 0 {
			unknown = fmt.Sprintf(", and the authority of %d others is unknown: %s", n, strings.Join(a.first[""], ", "))
		}
		return fmt.Sprintf("%d agents still have certificates of former authority %s: %s%s",
			a.count[late.Fingerprint], of, strings.Join(a.first[late.Fingerprint], ", "), unknown)
	case rotation.NotReplaced:
		return fmt.Sprintf("authority %s is about to expire, and is not replaced", of)
	default:
		return "the listener has no certificate, or one that should have been renewed"
	}
}
