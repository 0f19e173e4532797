package certificates

import (
	"bytes"
	"crypto/rsa"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/rotation"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/test/harness/certmanager"
)

func (c *control) ensure(of Management, request Request) Issued {
	c.t.Helper()
	issued, err := c.issuer(of).Ensure(c.t.Context(), request)
	require.NoError(c.t, err)
	return issued
}

func requireFault(t *testing.T, kind fault.Kind, reason string, err error) {
	t.Helper()
	require.Equal(t, kind, fault.Of(err).Kind, "%v", err)
	require.Equal(t, reason, fault.Of(err).Reason)
}

func TestACertificateIsForTheAgentOfAKyma(t *testing.T) {
	c := newControl(t)
	_, err := c.issuer(SelfManaged).Ensure(t.Context(), requestOf("a"))
	requirePending(t, err)
	c.rotated(SelfManaged)
	issued := c.ensure(SelfManaged, requestOf("a"))

	leaf, err := pairIn(issued).Leaf()
	require.NoError(t, err)
	require.Equal(t, "runtime-a", leaf.Subject.CommonName)
	require.True(t, pki.HasNames(leaf, requestOf("a").DNSNames))
	require.Equal(t, c.now.Add(6*day), issued.NotAfter)
	require.Equal(t, c.secret(AuthoritySecret).Data[shared.CertificateAuthorityKey], issued.Authorities)

	secret := c.secret("a-webhook-tls")
	require.Equal(t, corev1.SecretTypeTLS, secret.Type)
	require.Equal(t, map[string]string{
		shared.LabelKymaName: "a", LabelKymaNamespace: "kcp-system", shared.LabelManagedBy: "lifecycle-manager", shared.LabelPurpose: PurposeAgent,
	}, secret.Labels)
	require.Equal(t, issued.Signer, secret.Annotations[AnnotationSigner])
	require.Equal(t, "2026-01-07T00:00:00Z", secret.Annotations[AnnotationNotAfter])
	require.Equal(t, issued.PrivateKey, secret.Data[shared.PrivateKeyKey])
}

func TestNothingIsWrittenIfEverythingIsAsDesired(t *testing.T) {
	for _, of := range []Management{SelfManaged, CertManagerManaged, GardenerManaged} {
		t.Run(string(of), func(t *testing.T) {
			f := newFleet(newControl(t), of, "a")
			f.run(day, 6*time.Hour)
			writes := f.writes
			first := f.ensure(of, requestOf("a"))
			require.Equal(t, first, f.ensure(of, requestOf("a")))
			require.Empty(t, f.rotated(of).Done)
			require.Equal(t, writes, f.writes)
		})
	}
}

func TestACertificateIsReplacedOnlyIfNecessary(t *testing.T) {
	changed := func(edit func(*Request)) Request {
		request := requestOf("a")
		edit(&request)
		return request
	}
	for name, c := range map[string]struct {
		after   time.Duration
		request Request
		issued  bool
	}{
		"nothing has changed":               {time.Hour, requestOf("a"), false},
		"the names are in another order":    {time.Hour, changed(func(r *Request) { r.DNSNames = []string{r.DNSNames[1], r.DNSNames[0]} }), false},
		"another name":                      {time.Hour, changed(func(r *Request) { r.DNSNames = append(r.DNSNames, "x.example.com") }), true},
		"another runtime id":                {time.Hour, changed(func(r *Request) { r.CommonName = "other" }), true},
		"the certificate has to be renewed": {2*day + time.Hour, requestOf("a"), true},
	} {
		t.Run(name, func(t *testing.T) {
			control := newControl(t)
			control.rotated(SelfManaged)
			before := control.ensure(SelfManaged, requestOf("a"))
			control.now = control.now.Add(c.after)
			after := control.ensure(SelfManaged, c.request)
			require.Equal(t, c.issued, !bytes.Equal(before.Certificate, after.Certificate))
			require.Equal(t, c.issued, !bytes.Equal(before.PrivateKey, after.PrivateKey), "each certificate has a key of its own")
			require.Equal(t, c.issued, before.Version != after.Version)
		})
	}
}

func TestAnotherBundleIsAnotherVersionOfTheSameCertificate(t *testing.T) {
	c := newControl(t)
	c.rotated(SelfManaged)
	before := c.ensure(SelfManaged, requestOf("a"))
	c.ask()
	c.rotated(SelfManaged)
	require.NotContains(t, c.secret(AuthoritySecret).Annotations, AnnotationRotate)
	after := c.ensure(SelfManaged, requestOf("a"))
	require.Equal(t, before.Certificate, after.Certificate)
	require.Len(t, pki.Parse(after.Authorities), 2)
	require.NotEqual(t, before.Version, after.Version)
	require.Equal(t, after.Authorities, c.secret("a-webhook-tls").Data[shared.CertificateAuthorityKey])
}

func TestKeysOfAgentsAreRSAKeysOfTheSizeInTheOptions(t *testing.T) {
	c := newControl(t)
	o := c.options(SelfManaged)
	o.NewKey, o.KeySize = nil, 2048
	c.rotated(SelfManaged)
	before := c.ensure(SelfManaged, requestOf("a"))
	issuer, err := NewIssuer(o)
	require.NoError(t, err)
	issued, err := issuer.Ensure(t.Context(), requestOf("a"))
	require.NoError(t, err)
	require.NotEqual(t, before.Version, issued.Version, "a key of another kind is replaced")
	leaf, err := pairIn(issued).Leaf()
	require.NoError(t, err)
	key, ok := leaf.PublicKey.(*rsa.PublicKey)
	require.True(t, ok)
	require.Equal(t, 2048, key.N.BitLen())
}

func TestACertificateOfAnotherKymaIsNeitherUsedNorRemoved(t *testing.T) {
	for _, of := range []Management{SelfManaged, CertManagerManaged, GardenerManaged} {
		t.Run(string(of), func(t *testing.T) {
			f := newFleet(newControl(t), of, "a")
			f.run(day, 6*time.Hour)
			theirs := requestOf("a")
			theirs.Namespace = "other"
			_, err := f.issuer(of).Ensure(t.Context(), theirs)
			requireFault(t, fault.Rejected, ReasonNameTaken, err)
			require.NoError(t, f.issuer(of).Remove(t.Context(), "other", "a"))
			f.secret("a-webhook-tls")
		})
	}
}

func TestTheCertificateIsRemovedBeforeItsSecret(t *testing.T) {
	for of, kind := range map[Management]schema.GroupVersionKind{CertManagerManaged: certmanager.CertManager, GardenerManaged: certmanager.Gardener} {
		t.Run(string(of), func(t *testing.T) {
			f := newFleet(newControl(t), of, "a")
			f.run(day, 6*time.Hour)
			certificate := f.certificate(kind, "a-webhook-tls")
			certificate.SetFinalizers([]string{"example.com/slow"})
			require.NoError(t, f.Update(t.Context(), certificate))

			requirePending(t, f.issuer(of).Remove(t.Context(), "kcp-system", "a"))
			f.secret("a-webhook-tls")
			certificate = f.certificate(kind, "a-webhook-tls")
			certificate.SetFinalizers(nil)
			require.NoError(t, f.Update(t.Context(), certificate))
			require.NoError(t, f.issuer(of).Remove(t.Context(), "kcp-system", "a"))
			require.False(t, f.secretOrNil("a-webhook-tls"))
			require.NoError(t, f.issuer(of).Remove(t.Context(), "kcp-system", "a"), "once more")
		})
	}
}

func (c *control) certificate(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	c.t.Helper()
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(kind)
	require.NoError(c.t, c.Get(c.t.Context(), types.NamespacedName{Namespace: "istio-system", Name: name}, certificate))
	return certificate
}

func TestAnIssuerIsAskedForWhatTheAgentNeeds(t *testing.T) {
	c := newControl(t)
	_, err := c.issuer(CertManagerManaged).Ensure(t.Context(), requestOf("a"))
	requirePending(t, err)
	labels := map[string]any{shared.LabelKymaName: "a", LabelKymaNamespace: "kcp-system", shared.LabelManagedBy: "lifecycle-manager", shared.LabelPurpose: PurposeAgent}
	require.Equal(t, map[string]any{
		"commonName": "runtime-a", "dnsNames": []any{"skr-webhook.kyma-system.svc", "a.example.com"},
		"secretName": "a-webhook-tls", "secretTemplate": map[string]any{"labels": labels},
		"duration": "144h0m0s", "renewBefore": "96h0m0s",
		"issuerRef":  map[string]any{"name": "klm-issuer", "kind": "Issuer", "group": "cert-manager.io"},
		"privateKey": map[string]any{"algorithm": "RSA", "size": int64(4096), "rotationPolicy": "Always"},
		"usages":     []any{"digital signature", "key encipherment", "client auth", "server auth"},
	}, c.certificate(certmanager.CertManager, "a-webhook-tls").Object["spec"])

	_, err = c.issuer(GardenerManaged).Ensure(t.Context(), requestOf("a"))
	requirePending(t, err)
	require.Equal(t, map[string]any{
		"commonName": "runtime-a", "dnsNames": []any{"skr-webhook.kyma-system.svc", "a.example.com"},
		"secretName": "a-webhook-tls", "secretLabels": labels, "duration": "144h0m0s",
		"issuerRef":  map[string]any{"name": "klm-issuer", "namespace": "istio-system"},
		"privateKey": map[string]any{"algorithm": "RSA", "size": int64(4096)},
	}, c.certificate(certmanager.Gardener, "a-webhook-tls").Object["spec"])

	o := c.options(CertManagerManaged)
	o.IssuerNamespace = ""
	require.Equal(t, "ClusterIssuer", certManager{}.spec(o, wanted{})["issuerRef"].(map[string]any)["kind"]) //nolint:errcheck,forcetypeassert // a test
}

func TestTheReasonWhyACertificateIsNotIssuedIsReported(t *testing.T) {
	c := newControl(t)
	_, err := c.issuer(CertManagerManaged).Ensure(t.Context(), requestOf("a"))
	requirePending(t, err)
	certificate := c.certificate(certmanager.CertManager, "a-webhook-tls")
	certificate.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "DoesNotExist", "message": "no such issuer"}}}
	require.NoError(t, c.Status().Update(t.Context(), certificate))
	_, err = c.issuer(CertManagerManaged).Ensure(t.Context(), requestOf("a"))
	require.ErrorContains(t, err, "is not issued yet: DoesNotExist: no such issuer")
}

func TestOnlyAnIssuerThatIsAskedIsWaitedFor(t *testing.T) {
	c := newControl(t)
	for range 2 {
		result, err := c.rotate(CertManagerManaged)
		require.NoError(t, err)
		require.True(t, result.Awaited)
		require.Contains(t, strings.Join(result.Late, "\n"), "is not issued yet")
	}
	standIn := certmanager.New(c, "istio-system", certmanager.CertManager)
	standIn.Now = func() time.Time { return c.now }
	require.NoError(t, standIn.Reconcile(t.Context()))
	result, err := c.rotate(CertManagerManaged)
	require.NoError(t, err)
	require.False(t, result.Awaited)
	require.Empty(t, result.Late)
}

func TestAMissingIssuerIsReportedAndRetriedSlowly(t *testing.T) {
	c := newControl(t)
	e, ok := c.issuer(CertManagerManaged).(external)
	require.True(t, ok)
	missing := e.notWritten("read", &unstructured.Unstructured{}, &meta.NoKindMatchError{GroupKind: certmanager.CertManager.GroupKind()})
	requireFault(t, fault.Transient, ReasonNotInstalled, missing)
	require.True(t, fault.Of(missing).SlowRetry)
}

func TestARevokedCertificateIsReplaced(t *testing.T) {
	for _, of := range []Management{SelfManaged, CertManagerManaged, GardenerManaged} {
		t.Run(string(of), func(t *testing.T) {
			f := newFleet(newControl(t), of, "a")
			f.run(2*day, 6*time.Hour)
			request := requestOf("a")
			before := f.ensure(of, request)
			serial := pki.Parse(before.Certificate)[0].SerialNumber
			request.Revoked = "ff, " + serial.Text(16)
			if f.signer != nil {
				for range 2 {
					_, err := f.issuer(of).Ensure(t.Context(), request)
					requirePending(t, err)
				}
				f.tick()
			}
			after := f.ensure(of, request)
			require.NotEqual(t, serial, pki.Parse(after.Certificate)[0].SerialNumber)
			require.Equal(t, before.Signer, after.Signer, "the authority stays")
			writes := f.writes
			require.Equal(t, after, f.ensure(of, request), "the certificate is replaced once")
			require.Equal(t, writes, f.writes)
		})
	}
}

func TestAPublicIssuerIsRefused(t *testing.T) {
	f := newFleet(newControl(t), CertManagerManaged, "a")
	f.run(day, 6*time.Hour)
	secret := f.secret("a-webhook-tls")
	delete(secret.Data, shared.CertificateAuthorityKey)
	require.NoError(t, f.Update(t.Context(), secret))
	_, err := f.issuer(CertManagerManaged).Ensure(t.Context(), requestOf("a"))
	requireFault(t, fault.Rejected, ReasonNoAuthority, err)
}

// Upstream's Lifecycle Manager, or an earlier configuration, may have used cert-manager.
func TestOurAuthorityTakesOverFromAnotherIssuer(t *testing.T) {
	f := newFleet(newControl(t), CertManagerManaged, "a")
	f.run(day, 6*time.Hour)
	before := f.state()[0].Fingerprint
	// Upstream has neither a record nor our labels.
	require.NoError(t, f.Delete(t.Context(), f.secret(AuthoritySecret)))
	secret := f.secret("a-webhook-tls")
	secret.Labels, secret.Annotations = nil, map[string]string{"cert-manager.io/certificate-name": "a-webhook-tls"}
	require.NoError(t, f.Update(t.Context(), secret))

	f.of = SelfManaged
	f.run(10*day, 6*time.Hour)
	state := f.state()
	require.Len(t, state, 1)
	require.NotEqual(t, before, state[0].Fingerprint)
	require.Equal(t, state[0].Fingerprint, f.secret("a-webhook-tls").Annotations[AnnotationSigner])
	require.NotContains(t, f.secret("a-webhook-tls").Annotations, "cert-manager.io/certificate-name")
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(certmanager.CertManager)
	require.Error(t, f.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: "a-webhook-tls"}, certificate), "nobody else writes the Secret")
}

// The Secrets have the same names with each issuer. Two issuers that write one Secret would undo each other forever.
func TestAnotherIssuerTakesOverAndTheFormerOneIsAskedForNothing(t *testing.T) {
	f := newFleet(newControl(t), CertManagerManaged, "a")
	f.signer = certmanager.New(f, "istio-system", certmanager.CertManager, certmanager.Gardener)
	f.signer.Now = func() time.Time { return f.now }
	f.run(day, 6*time.Hour)
	isThere := func(kind schema.GroupVersionKind, name string) bool {
		certificate := &unstructured.Unstructured{}
		certificate.SetGroupVersionKind(kind)
		return f.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: name}, certificate) == nil
	}
	others := func(name string, than maker) []external { return external{maker: than}.others(f.secret(name)) }
	takeOver := func(of Management, from, to schema.GroupVersionKind, than maker) {
		f.of = of
		f.run(10*day, 6*time.Hour)
		for certificate, secret := range map[string]string{"a-webhook-tls": "a-webhook-tls", ListenerCertificate: ListenerCertificateSecret} {
			require.False(t, isThere(from, certificate), certificate)
			require.True(t, isThere(to, certificate), certificate)
			require.Empty(t, others(secret, than), secret)
		}
	}
	takeOver(GardenerManaged, certmanager.CertManager, certmanager.Gardener, gardener{})
	takeOver(CertManagerManaged, certmanager.Gardener, certmanager.CertManager, certManager{})

	f.of = SelfManaged
	f.run(10*day, 6*time.Hour)
	require.False(t, isThere(certmanager.CertManager, "a-webhook-tls"))
	require.False(t, isThere(certmanager.CertManager, ListenerCertificate))
	require.False(t, f.secretOrNil(ListenerCertificateSecret), "nobody uses it")
}

func TestAnIssuerThatHasNotIssuedYetIsAskedForNothingAnyMore(t *testing.T) {
	c := newControl(t)
	_, err := c.issuer(CertManagerManaged).Ensure(t.Context(), requestOf("a"))
	requirePending(t, err)
	_, err = c.issuer(GardenerManaged).Ensure(t.Context(), requestOf("a"))
	requirePending(t, err)
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(certmanager.CertManager)
	require.Error(t, c.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: "a-webhook-tls"}, certificate))
	c.certificate(certmanager.Gardener, "a-webhook-tls")
}

func TestAnAuthorityStaysTrustedWhileAnAgentIsLate(t *testing.T) {
	f := newFleet(newControl(t), SelfManaged, "a")
	f.tick()
	late := f.ensure(SelfManaged, requestOf("late"))
	f.ask()
	f.run(5*day, 6*time.Hour)
	state := f.state()
	require.Len(t, state, 2)
	require.Equal(t, rotation.Former, state[0].Phase)
	result := f.rotated(SelfManaged)
	require.Len(t, result.Late, 1)
	require.Contains(t, result.Late[0], "1 agents still have certificates of former authority")
	require.Contains(t, result.Late[0], "kcp-system/late")
	listener := f.listener()
	require.NoError(t, connect(shown{pairIn(late), listener.authorities}, listener, f.now), "the listener still accepts it")

	f.run(5*day, 6*time.Hour)
	require.Len(t, f.state(), 1, "its certificate has expired")
}

func TestTheKeyOfAFormerAuthorityIsDeleted(t *testing.T) {
	f := newFleet(newControl(t), SelfManaged, "a")
	f.tick()
	f.ensure(SelfManaged, requestOf("late"))
	f.ask()
	f.run(3*day, 6*time.Hour)
	secret, state := f.secret(AuthoritySecret), f.state()
	require.NotContains(t, secret.Data, state[0].Fingerprint+keySuffix)
	require.Contains(t, secret.Data, state[1].Fingerprint+keySuffix)
}

func TestALostListenerSecretComesBack(t *testing.T) {
	f := newFleet(newControl(t), SelfManaged, "a")
	f.tick()
	require.NoError(t, f.Delete(t.Context(), f.secret(DefaultListenerSecret)))
	f.run(day, 6*time.Hour)
	require.Len(t, f.state(), 1)
}

func TestALostRecordIsRestoredWithoutRefusingAnybody(t *testing.T) {
	f := newFleet(newControl(t), SelfManaged, "a")
	f.tick()
	before := f.state()[0].Fingerprint
	require.NoError(t, f.Delete(t.Context(), f.secret(AuthoritySecret)))
	f.run(10*day, 6*time.Hour)
	require.Len(t, f.state(), 1)
	require.NotEqual(t, before, f.state()[0].Fingerprint)
}

func TestARecordThatCannotBeReadChangesNothing(t *testing.T) {
	f := newFleet(newControl(t), SelfManaged, "a")
	f.tick()
	for name, edit := range map[string]func(map[string][]byte){
		"no list":        func(data map[string][]byte) { data[stateKey] = []byte("{") },
		"no certificate": func(data map[string][]byte) { delete(data, f.state()[0].Fingerprint+certificateSuffix) },
		"no private key": func(data map[string][]byte) { delete(data, f.state()[0].Fingerprint+keySuffix) },
	} {
		t.Run(name, func(t *testing.T) {
			whole := f.secret(AuthoritySecret)
			broken := whole.DeepCopy()
			edit(broken.Data)
			require.NoError(t, f.Update(t.Context(), broken))
			writes := f.writes
			_, err := f.rotate(SelfManaged)
			requireFault(t, fault.Rejected, ReasonUnreadable, err)
			_, err = f.issuer(SelfManaged).Ensure(t.Context(), requestOf("b"))
			requireFault(t, fault.Rejected, ReasonUnreadable, err)
			require.Equal(t, writes, f.writes)
			whole.ResourceVersion = broken.ResourceVersion
			require.NoError(t, f.Update(t.Context(), whole))
		})
	}
}

func TestOtherNamesOfTheListenerAreInItsCertificate(t *testing.T) {
	c := newControl(t)
	c.rotated(SelfManaged)
	o := c.options(SelfManaged)
	o.ListenerNames = []string{"other.example.com"}
	a, err := New(o)
	require.NoError(t, err)
	_, err = a.rotate(t.Context())
	require.NoError(t, err)
	leaf, err := pairOf(c.secret(DefaultListenerSecret)).Leaf()
	require.NoError(t, err)
	require.Equal(t, []string{"other.example.com"}, leaf.DNSNames)
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	c := newControl(t)
	for what, edit := range map[string]func(*Options){
		"a namespace":      func(o *Options) { o.Namespace = "" },
		"bits":             func(o *Options) { o.KeySize = 1024 },
		"renewed":          func(o *Options) { o.RenewBefore = o.Duration },
		"DNS name":         func(o *Options) { o.ListenerNames = nil },
		"replaced":         func(o *Options) { o.AuthorityDuration = o.Duration },
		"negative":         func(o *Options) { o.SwitchGracePeriod = -1 },
		"no certificate m": func(o *Options) { o.Management = "mine" },
		"own namespace":    func(o *Options) { o.Management, o.IssuerName, o.IssuerNamespace = CertManagerManaged, "i", "other" },
		"name of an":       func(o *Options) { o.Management = CertManagerManaged },
		"3072 or 4096":     func(o *Options) { o.Management, o.IssuerName, o.KeySize = GardenerManaged, "i", 8192 },
	} {
		o := c.options(SelfManaged)
		edit(&o)
		require.ErrorContains(t, o.Validate(), what)
		_, err := NewIssuer(o)
		require.Error(t, err)
		_, err = New(o)
		require.Error(t, err)
	}
	require.NoError(t, Options{Namespace: "istio-system", ListenerNames: []string{"listener"}}.Validate())
}
