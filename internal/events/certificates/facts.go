package certificates

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/rotation"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/pages"
)

// observation holds facts that are not in the Secrets of authorities and listener.
type observation struct {
	// seen are authorities that have signed certificates.
	seen []*x509.Certificate
	// offered is the listener certificate from an external issuer.
	offered *corev1.Secret
	// agents counts the agents with a certificate, by authority; nil if they were not counted.
	agents *agents
}

// agents holds the number of agents with a certificate of each authority, by its fingerprint. The empty fingerprint
// stands for an unknown authority.
type agents struct {
	count map[string]int
	// first holds the names of the first few Kymas of each authority.
	first map[string][]string
}

// maxNamed is the maximum number of Kymas named per authority.
const maxNamed = 5

// agentPage is the size of a page of Secrets' metadata.
const agentPage = 500

// AgentSecrets returns a selector for the Secrets of an instance's agents.
func AgentSecrets(managedBy string) (labels.Selector, error) {
	exists, err := labels.NewRequirement(shared.LabelKymaName, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("select the certificates of agents: %w", err)
	}
	return labels.SelectorFromSet(labels.Set{shared.LabelPurpose: PurposeAgent, shared.LabelManagedBy: managedBy}).Add(*exists), nil
}

// countAgents counts the agents of the whole fleet by their Secrets' metadata, including agents that still have a
// certificate requested by upstream. Expired certificates do not count.
func (k *keeper) countAgents(ctx context.Context) (*agents, error) {
	ours, err := AgentSecrets(k.ManagedBy)
	if err != nil {
		return nil, err
	}
	counted := &agents{count: map[string]int{}, first: map[string][]string{}}
	for _, selector := range []labels.Selector{ours, labels.SelectorFromSet(labels.Set{shared.LabelPurpose: purposeUpstream})} {
		err := pages.Metadata(ctx, k.Client, corev1.SchemeGroupVersion.WithKind("Secret"), agentPage, func(secret *metav1.PartialObjectMetadata) bool {
			counted.add(secret, k.Now())
			return true
		}, client.InNamespace(k.Namespace), client.MatchingLabelsSelector{Selector: selector})
		if err != nil {
			return nil, fmt.Errorf("list the certificates of agents: %w", err)
		}
	}
	return counted, nil
}

// add counts an agent. The authority of certificates requested by upstream is unknown.
func (a *agents) add(secret *metav1.PartialObjectMetadata, now time.Time) {
	name := secret.Labels[LabelKymaNamespace] + "/" + secret.Labels[shared.LabelKymaName]
	if secret.Labels[shared.LabelPurpose] == purposeUpstream {
		kyma, ok := strings.CutSuffix(secret.Name, desired.CertificateName(""))
		if !ok {
			return // not an agent's Secret, for example the authority's
		}
		name = kyma
	}
	if end, err := time.Parse(time.RFC3339, secret.Annotations[AnnotationNotAfter]); err == nil && !now.Before(end) {
		return
	}
	signer := secret.Annotations[AnnotationSigner]
	a.count[signer]++
	if len(a.first[signer]) < maxNamed {
		a.first[signer] = append(a.first[signer], name)
	}
}

// facts holds the two Secrets as they were read together.
type facts struct {
	listener *corev1.Secret
	record   record
	observed rotation.Facts
	// news is true if the record has authorities that are not in its Secret yet.
	news bool
}

// read reads the listener's Secret before the record. So publishing a record fails with a conflict if somebody has
// published a later record meanwhile.
func (k *keeper) read(ctx context.Context, o observation) (facts, error) {
	listener, err := k.getSecret(ctx, k.ListenerSecret)
	if err != nil {
		return facts{}, err
	}
	known, err := k.load(ctx, listener)
	if err != nil {
		return facts{}, err
	}
	s := facts{listener: listener, record: known}
	now := k.Now()
	seen := slices.Clone(o.seen)
	if authority := authorityIn(o.offered); authority != nil {
		seen = append(seen, authority)
	}
	for _, authority := range seen {
		if _, has := known.State.Of(pki.Fingerprint(authority)); !has && now.Before(authority.NotAfter) {
			known, s.news = known.with(authority, rotation.Next, time.Time{}, now), true
		}
	}
	s.record = known
	s.observed = rotation.Facts{Now: now, State: known.State, HasListener: listener != nil}
	if known.secret != nil {
		_, s.observed.Asked = known.secret.Annotations[AnnotationRotate]
	}
	if listener != nil {
		authorities := pki.Parse(listener.Data[shared.CertificateAuthorityKey])
		for _, authority := range authorities {
			s.observed.Trusted = append(s.observed.Trusted, pki.Fingerprint(authority))
		}
		s.observed.Server = k.serverOf(listener, append(known.authorities(), authorities...))
	}
	if o.offered != nil {
		s.observed.Offered = k.serverOf(o.offered, known.authorities())
	}
	if o.agents != nil {
		s.observed.Counted, s.observed.Agents = true, o.agents.count
	}
	return s, nil
}

// authorityIn returns the authority in a Secret that signed the certificate in the same Secret; nil if there is none.
func authorityIn(secret *corev1.Secret) *x509.Certificate {
	if secret == nil {
		return nil
	}
	return pki.AuthorityOf(secret.Data[shared.CertificateKey], pki.Parse(secret.Data[shared.CertificateAuthorityKey]))
}

// serverOf returns the listener's certificate in a Secret.
func (k *keeper) serverOf(secret *corev1.Secret, authorities []*x509.Certificate) rotation.Server {
	leaf, err := pairOf(secret).Leaf()
	if err != nil {
		return rotation.Server{}
	}
	authority := pki.AuthorityOf(secret.Data[shared.CertificateKey], authorities)
	if authority == nil {
		return rotation.Server{}
	}
	return rotation.Server{
		Signer: pki.Fingerprint(authority), Serial: leaf.SerialNumber.Text(16), NotAfter: leaf.NotAfter,
		Renewal: k.renewalOf(leaf.NotBefore, leaf.NotAfter), Mismatched: !pki.HasNames(leaf, k.ListenerNames),
		Useless: !slices.ContainsFunc(k.ListenerNames, func(name string) bool { return leaf.VerifyHostname(name) == nil }),
	}
}
