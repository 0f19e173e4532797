package certificates

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/rotation"
)

// upstreamAuthority returns an authority as upstream has it: one certificate that signs agents' certificates and that
// upstream's gateway shows.
func upstreamAuthority(t *testing.T, name string, now time.Time, names ...string) pki.Pair {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.Unix()), Subject: pkix.Name{CommonName: name}, DNSNames: names, NotBefore: now, NotAfter: now.Add(90 * day),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return pki.Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// leave creates a Secret as upstream has it.
func (c *control) leave(name string, pair pki.Pair, authorities []byte) {
	c.t.Helper()
	require.NoError(c.t, c.Create(c.t.Context(), &corev1.Secret{ObjectMeta: upstreamMeta(name), Data: map[string][]byte{
		shared.CertificateKey: pair.Certificate, shared.PrivateKeyKey: pair.PrivateKey, shared.CertificateAuthorityKey: authorities,
	}}))
}

func upstreamMeta(name string) metav1.ObjectMeta {
	meta := objectMeta("istio-system", name)
	meta.Labels = map[string]string{shared.LabelPurpose: purposeUpstream, shared.LabelManagedBy: shared.ManagedByLifecycleManager}
	return meta
}

// leaveAgent creates the certificate of an agent as upstream has it.
func (c *control) leaveAgent(kyma string, authority pki.Pair) pki.Pair {
	c.t.Helper()
	key, err := pki.NewKey()
	require.NoError(c.t, err)
	request := requestOf(kyma)
	pair, err := authority.Sign(key, c.now, pki.Template{CommonName: request.CommonName, Names: request.DNSNames, Client: true, NotAfter: c.now.Add(60 * day)})
	require.NoError(c.t, err)
	c.leave(AgentCertificate(kyma), pair, authority.Certificate)
	return pair
}

func TestAgentsOfUpstreamAreAcceptedUntilTheLastOneIsTakenOver(t *testing.T) {
	c := newControl(t)
	authority := upstreamAuthority(t, "upstream", c.now, "listener.example.com")
	c.leave(UpstreamAuthoritySecret, authority, authority.Certificate)
	c.leave(DefaultListenerSecret, authority, authority.Certificate)
	late := shown{c.leaveAgent("late", authority), authority.Certificate}
	c.leaveAgent("a", authority)

	f := newFleet(c, SelfManaged, "a")
	f.tick()
	require.NoError(t, connect(late, f.listener(), f.now), "the listener shows the certificate that it knows")
	f.run(12*day, 12*time.Hour)
	require.Len(t, f.state(), 2)
	listener := f.listener()
	require.NoError(t, connect(shown{late.pair, listener.authorities}, listener, f.now), "its bundle may already be ours, its certificate is not")
	result := f.rotated(SelfManaged)
	require.Contains(t, result.Late[0], "the authority of 1 others is unknown: late")

	f.agents["late"] = &agentOf{}
	f.run(4*day, 12*time.Hour)
	require.Len(t, f.state(), 1)
	require.True(t, f.state()[0].Signs)
}

func TestUpstreamsAuthorityIsTrustedIfItsGatewayDoesNotTrustItYet(t *testing.T) {
	for _, of := range []Management{SelfManaged, CertManagerManaged} {
		t.Run(string(of), func(t *testing.T) {
			c := newControl(t)
			before := upstreamAuthority(t, "before", c.now, "listener.example.com")
			c.now = c.now.Add(day)
			renewed := upstreamAuthority(t, "renewed", c.now, "listener.example.com")
			c.leave(DefaultListenerSecret, before, before.Certificate)
			c.leave(UpstreamAuthoritySecret, renewed, renewed.Certificate)
			agent := shown{c.leaveAgent("late", renewed), pki.Bundle(append(pki.Parse(before.Certificate), pki.Parse(renewed.Certificate)...)...)}
			f := newFleet(c, of)
			f.tick()
			require.NoError(t, connect(agent, f.listener(), f.now))
			f.run(20*day, 12*time.Hour)
			listener := f.listener()
			require.NoError(t, connect(shown{agent.pair, listener.authorities}, listener, f.now))
		})
	}
}

func TestAgentsOfUpstreamAreAcceptedIfOnlyItsAuthorityIsLeft(t *testing.T) {
	c := newControl(t)
	authority := upstreamAuthority(t, "upstream", c.now)
	c.leave(UpstreamAuthoritySecret, authority, authority.Certificate)
	agent := c.leaveAgent("late", authority)
	f := newFleet(c, SelfManaged)
	f.tick()
	listener := f.listener()
	require.NoError(t, connect(shown{agent, listener.authorities}, listener, f.now))
	present, _ := f.state().In(rotation.Present)
	require.True(t, present.Signs, "there was no certificate that agents know")
}

func TestUpstreamsGatewayForAnotherHostIsNotShownToOurAgents(t *testing.T) {
	c := newControl(t)
	authority := upstreamAuthority(t, "upstream", c.now, "another.example.com")
	c.leave(DefaultListenerSecret, authority, authority.Certificate)
	f := newFleet(c, SelfManaged, "a")
	f.tick()
	present, _ := f.state().In(rotation.Present)
	require.True(t, present.Signs, "no agent could connect during the grace period")
	f.run(day, 6*time.Hour)
	require.NotZero(t, f.handshakes)
}
