// Package certmanager runs cert-manager's own controllers in a cluster, and is a stand-in for what cannot be run there: for
// those of Gardener's certificate management (cert.gardener.cloud/v1alpha1), which no module proxy has, and for both where
// clusters and time are simulated. The stand-in signs what Certificates of both kinds ask for, with one authority that can be
// changed, and writes the Secrets and conditions that clients of the real ones read. Issuers are not read: every name is one.
// Keys are on the curve P-256, whatever size is asked for.
//
//	controllers.go  cert-manager's own, as a process
//	certmanager.go  the stand-in
//	definitions.go  the kinds of both
package certmanager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
)

// CertManager and Gardener are the kinds of Certificates.
var (
	CertManager = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
	Gardener    = schema.GroupVersionKind{Group: "cert.gardener.cloud", Version: "v1alpha1", Kind: "Certificate"}
)

// authorityLifetime is how long an authority of the stand-in is valid.
const authorityLifetime = 10 * 365 * 24 * time.Hour

// StandIn signs what Certificates in one namespace ask for.
type StandIn struct {
	client    client.Client
	namespace string
	kinds     []schema.GroupVersionKind
	// Now is the clock.
	Now func() time.Time

	mu        sync.Mutex
	authority pki.Pair
	number    int
	held      bool
}

// New returns a stand-in that signs when Reconcile is called, for Certificates of these kinds.
func New(c client.Client, namespace string, kinds ...schema.GroupVersionKind) *StandIn {
	return &StandIn{client: c, namespace: namespace, kinds: kinds, Now: time.Now}
}

// Follow runs a stand-in for Gardener's kind, which must be installed, until the end of the test.
func Follow(t testing.TB, c client.Client, namespace string) *StandIn {
	t.Helper()
	s := New(c, namespace, Gardener)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			// What fails, such as by a conflict, is tried again, as controllers do.
			if err := s.Reconcile(ctx); err != nil && ctx.Err() == nil {
				t.Logf("the stand-in for Gardener's certificate management will try again: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

// Rotate makes another authority, which signs from now on. What is issued stays until it is to be renewed.
func (s *StandIn) Rotate(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NoError(t, s.rotate())
}

// Hold makes it sign nothing, as a controller that is down, until Hold(false).
func (s *StandIn) Hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

// Authority is the certificate in PEM of the authority that signs now.
func (s *StandIn) Authority() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.authority.Certificate
}

func (s *StandIn) rotate() error {
	s.number++
	now := s.Now()
	var err error
	s.authority, err = pki.NewAuthority(fmt.Sprintf("stand-in authority %d", s.number), now, now.Add(authorityLifetime))
	return err
}

// Reconcile signs once all that is to be signed.
func (s *StandIn) Reconcile(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		return nil
	}
	if len(s.authority.Certificate) == 0 {
		if err := s.rotate(); err != nil {
			return err
		}
	}
	var failed []error
	for _, kind := range s.kinds {
		certificates := &unstructured.UnstructuredList{}
		certificates.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := s.client.List(ctx, certificates, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for i := range certificates.Items {
			if certificate := &certificates.Items[i]; certificate.GetDeletionTimestamp().IsZero() {
				failed = append(failed, s.reconcile(ctx, certificate))
			}
		}
	}
	return errors.Join(failed...)
}

func (s *StandIn) reconcile(ctx context.Context, certificate *unstructured.Unstructured) error {
	name := text(certificate, "spec", "secretName")
	secret := &corev1.Secret{}
	err := s.client.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Type: corev1.SecretTypeTLS}
	} else if err != nil {
		return err
	}
	if !s.mustIssue(certificate, secret) {
		return nil
	}
	if err := s.issue(certificate, secret); err != nil {
		return err
	}
	if secret.ResourceVersion == "" {
		err = s.client.Create(ctx, secret)
	} else {
		err = s.client.Update(ctx, secret)
	}
	if err != nil {
		return err
	}
	return s.report(ctx, certificate, secret)
}

// mustIssue tells whether the Secret is not what the Certificate asks for, is to be renewed, or whether somebody asked for
// another one.
func (s *StandIn) mustIssue(certificate *unstructured.Unstructured, secret *corev1.Secret) bool {
	pair := pki.Pair{Certificate: secret.Data[corev1.TLSCertKey], PrivateKey: secret.Data[corev1.TLSPrivateKeyKey]}
	leaf, err := pair.Leaf()
	if err != nil || leaf.Subject.CommonName != text(certificate, "spec", "commonName") || !pki.HasNames(leaf, namesOf(certificate)) {
		return true
	}
	if after, err := time.Parse(time.RFC3339, text(certificate, "spec", "ensureRenewedAfter")); err == nil && leaf.NotBefore.Before(after) {
		return true
	}
	for _, each := range conditionsOf(certificate) {
		if condition, ok := each.(map[string]any); ok && condition["type"] == "Issuing" && condition["status"] == "True" {
			return true
		}
	}
	before, err := time.ParseDuration(text(certificate, "spec", "renewBefore"))
	if err != nil {
		before = leaf.NotAfter.Sub(leaf.NotBefore) / 3
	}
	return !s.Now().Before(leaf.NotAfter.Add(-before))
}

func (s *StandIn) issue(certificate *unstructured.Unstructured, secret *corev1.Secret) error {
	duration, err := time.ParseDuration(text(certificate, "spec", "duration"))
	if err != nil {
		return err
	}
	key, err := pki.NewKey()
	if err != nil {
		return err
	}
	now := s.Now()
	pair, err := s.authority.Sign(key, now, pki.Template{
		CommonName: text(certificate, "spec", "commonName"), Names: namesOf(certificate), Client: true, NotBefore: now, NotAfter: now.Add(duration),
	})
	if err != nil {
		return err
	}
	secret.Data = map[string][]byte{
		corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.PrivateKey, "ca.crt": s.authority.Certificate,
	}
	group := certificate.GroupVersionKind().Group
	labels, _, err := unstructured.NestedStringMap(certificate.Object, "spec", "secretLabels")
	if group == CertManager.Group {
		labels, _, err = unstructured.NestedStringMap(certificate.Object, "spec", "secretTemplate", "labels")
	}
	if err != nil {
		return err
	}
	if secret.Labels == nil {
		secret.Labels = map[string]string{}
	}
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	for key, value := range labels {
		secret.Labels[key] = value
	}
	secret.Annotations[group+"/certificate-name"] = certificate.GetName()
	return nil
}

// report writes the status as the kind's controller does.
func (s *StandIn) report(ctx context.Context, certificate *unstructured.Unstructured, secret *corev1.Secret) error {
	leaf := pki.Parse(secret.Data[corev1.TLSCertKey])[0]
	now := s.Now().UTC().Format(time.RFC3339)
	status := map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "Ready", "message": "Certificate is up to date and has not expired", "lastTransitionTime": now,
	}}}
	if certificate.GroupVersionKind().Group == Gardener.Group {
		status["state"], status["message"] = "Ready", "certificate is issued"
		status["expirationDate"] = leaf.NotAfter.UTC().Format(time.RFC3339)
	} else {
		status["notAfter"], status["notBefore"] = leaf.NotAfter.UTC().Format(time.RFC3339), leaf.NotBefore.UTC().Format(time.RFC3339)
	}
	certificate.Object["status"] = status
	return s.client.Status().Update(ctx, certificate)
}

func namesOf(certificate *unstructured.Unstructured) []string {
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	addresses, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "ipAddresses")
	return append(names, addresses...)
}

func conditionsOf(certificate *unstructured.Unstructured) []any {
	conditions, _, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	return conditions
}

func text(object *unstructured.Unstructured, path ...string) string {
	value, _, err := unstructured.NestedString(object.Object, path...)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(value)
}
