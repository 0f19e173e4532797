package signature_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"ocm.software/ocm/api/ocm/compdesc"
	"ocm.software/ocm/api/tech/signing"
	rsahandler "ocm.software/ocm/api/tech/signing/handlers/rsa"
	psshandler "ocm.software/ocm/api/tech/signing/handlers/rsa-pss"
	"ocm.software/ocm/api/tech/signing/hasher/sha256"
	"ocm.software/ocm/api/tech/signing/hasher/sha512"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
)

// fixture is a Verifier with its control plane and clock.
type fixture struct {
	*signature.Verifier
	client client.Client

	mu    sync.Mutex
	lists int
	fails error
	now   time.Time
}

func newFixture(t *testing.T, policy signature.Policy, secrets ...*corev1.Secret) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	builder := fake.NewClientBuilder()
	for _, one := range secrets {
		builder = builder.WithObjects(one)
	}
	w.client = builder.WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			w.mu.Lock()
			w.lists++
			err := w.fails
			w.mu.Unlock()
			if err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
	var err error
	w.Verifier, err = signature.New(signature.Options{Policy: policy, Keys: w.client, Clock: func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	}})
	require.NoError(t, err)
	return w
}

func (w *fixture) later(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(by)
}

func (w *fixture) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lists
}

func (w *fixture) failWith(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails = err
}

func (w *fixture) verify(t *testing.T, raw string, required ...string) error {
	t.Helper()
	labels := map[string]string{}
	if len(required) > 0 {
		labels[shared.LabelSignature] = required[0]
	}
	return w.Verify(t.Context(), []byte(raw), labels)
}

func TestSignaturesOfTheLibraryVerify(t *testing.T) {
	schemas := map[string]string{"schema v2": descriptV2, "schema v3alpha1": descriptV3}
	handlers := map[string]signing.Signer{"PKCS1v1.5": rsahandler.NewHandler(), "PSS": psshandler.NewHandler()}
	encodings := map[string][]byte{"key in PKIX": pkix(t, &ours().PublicKey), "key in PKCS1": pkcs1(ours())}
	norms := []string{"jsonNormalisation/v1", "jsonNormalisation/v2", "jsonNormalisation/v3"}
	hashers := []signing.Hasher{sha256.Handler{}, sha512.Handler{}}
	for schema, raw := range schemas {
		for algorithm, handler := range handlers {
			for encoding, public := range encodings {
				for _, norm := range norms {
					for _, hasher := range hashers {
						t.Run(strings.Join([]string{schema, algorithm, encoding, norm, hasher.Algorithm()}, ", "), func(t *testing.T) {
							w := newFixture(t, signature.Require, secret("keys", "kyma", public))
							signed := signer{handler: handler, hasher: hasher, norm: norm}.sign(t, raw)
							require.NoError(t, w.verify(t, signed))
							changed := replace(t, signed, "1.2.3", "1.2.4")
							require.ErrorIs(t, w.verify(t, changed), signature.ErrSignature)
						})
					}
				}
			}
		}
	}
}

func TestADescriptorSignedByTheLibraryAloneVerifies(t *testing.T) {
	decoded, err := descriptor.Decode([]byte(descriptV2))
	require.NoError(t, err)
	require.NoError(t, compdesc.Sign(nil, decoded, ours(), psshandler.NewHandler(), sha256.Handler{}, "kyma", "CN=modules"))
	w := newFixture(t, signature.Require, secret("keys", "kyma", pkcs1(ours())))
	require.NoError(t, w.verify(t, encode(t, decoded)))
}

func TestPolicies(t *testing.T) {
	good := secret("keys", "kyma", pkcs1(ours()))
	bySomebodyElse := signer{private: theirs()}.sign(t, descriptV2)
	cases := []struct {
		name     string
		raw      string
		required string
		// refused are the policies that refuse the descriptor.
		refused []signature.Policy
	}{
		{"an unsigned descriptor is refused if a signature is required", descriptV2, "", []signature.Policy{signature.Require}},
		{"an unsigned descriptor is refused if the template names a signature", descriptV2, "kyma", []signature.Policy{signature.IfSigned, signature.Require}},
		{"a valid signature is always accepted", signer{}.sign(t, descriptV2), "", nil},
		{"a valid signature that the template names is always accepted", signer{}.sign(t, descriptV2), "kyma", nil},
		{"an invalid signature is refused unless ignored", bySomebodyElse, "", []signature.Policy{signature.IfSigned, signature.Require}},
		{"a valid signature is not enough if the template names another", signer{}.sign(t, descriptV2), "other", []signature.Policy{signature.IfSigned, signature.Require}},
	}
	for _, c := range cases {
		for _, policy := range []signature.Policy{signature.Ignore, signature.IfSigned, signature.Require} {
			t.Run(c.name+", "+string(policy), func(t *testing.T) {
				err := newFixture(t, policy, good.DeepCopy()).verify(t, c.raw, c.required)
				for _, refusing := range c.refused {
					if refusing == policy {
						require.ErrorIs(t, err, signature.ErrSignature)
						return
					}
				}
				require.NoError(t, err)
			})
		}
	}
}

func TestPolicyNames(t *testing.T) {
	for _, name := range []string{"ignore", "if-signed", "require"} {
		policy, err := signature.ParsePolicy(name)
		require.NoError(t, err)
		require.Equal(t, name, string(policy))
	}
	for _, name := range []string{"", "required", "Require"} {
		_, err := signature.ParsePolicy(name)
		require.ErrorContains(t, err, "must be ignore, if-signed or require", name)
	}
	_, err := signature.New(signature.Options{})
	require.Error(t, err)
	_, err = signature.New(signature.Options{Policy: signature.Require})
	require.Error(t, err)
}

func TestRefusalsNameTheRemedy(t *testing.T) {
	privatePEM := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(ours())})
	good := secret("keys", "kyma", pkcs1(ours()))
	noData := secret("keys", "kyma", nil)
	noData.Data = nil
	elsewhere := secret("keys", "kyma", pkcs1(ours()))
	elsewhere.Namespace = "default"
	signed := signer{}.sign(t, descriptV2)
	cases := []struct {
		name     string
		raw      string
		required string
		secrets  []*corev1.Secret
		says     []string
	}{
		{"no signature", descriptV2, "", nil, []string{"is not signed", "sign it"}},
		{"none, but the template names one", descriptV2, "kyma", nil, []string{`names signature "kyma"`, "is not signed"}},
		{"another signature than the template names", signed, "other", []*corev1.Secret{good}, []string{`names signature "other"`, `only "kyma"`}},
		{"no Secret", signed, "", nil, []string{`signature "kyma"`, "operator.kyma-project.io/signature=kyma", "is missing"}},
		{"a Secret in another namespace does not count", signed, "", []*corev1.Secret{elsewhere}, []string{"is missing"}},
		{"two Secrets", signed, "", []*corev1.Secret{good, secret("more", "kyma", pkcs1(ours()))}, []string{`signature "kyma"`, "kcp-system/keys, kcp-system/more"}},
		{"Secret without the data key", signed, "", []*corev1.Secret{noData}, []string{"Secret kcp-system/keys has no data key \"key\""}},
		{"no PEM", signed, "", []*corev1.Secret{secret("keys", "kyma", []byte("MIIB"))}, []string{"kcp-system/keys", "no PEM block"}},
		{"damaged key", signed, "", []*corev1.Secret{secret("keys", "kyma", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}))}, []string{"kcp-system/keys", "no RSA public key"}},
		{"private key", signed, "", []*corev1.Secret{secret("keys", "kyma", privatePEM)}, []string{"kcp-system/keys", "private key"}},
		{"key of another kind", signed, "", []*corev1.Secret{secret("keys", "kyma", elliptical(t))}, []string{"kcp-system/keys", "no RSA public key"}},
		{"two keys in a Secret", signed, "", []*corev1.Secret{secret("keys", "kyma", append(pkcs1(ours()), pkcs1(theirs())...))}, []string{"kcp-system/keys", "more than one PEM block"}},
		{"another key", signed, "", []*corev1.Secret{secret("keys", "kyma", pkcs1(theirs()))}, []string{`signature "kyma"`, "kcp-system/keys", "another key"}},
		{"changed descriptor", replace(t, signed, "module/keda", "module/kedb"), "", []*corev1.Secret{good}, []string{`signature "kyma"`, "changed after it was signed"}},
		{"unknown signature algorithm", replace(t, signed, rsahandler.Algorithm, "ROT13"), "", []*corev1.Secret{good}, []string{`"ROT13"`, "unknown", rsahandler.Algorithm, psshandler.Algorithm}},
		{"signature of one algorithm called another", replace(t, signed, rsahandler.Algorithm, psshandler.Algorithm), "", []*corev1.Secret{good}, []string{"does not verify", "kcp-system/keys"}},
		{"unknown hash algorithm", replace(t, signed, `{"hashAlgorithm":"SHA-256","normalisationAlgorithm":"jsonN`, `{"hashAlgorithm":"MD5","normalisationAlgorithm":"jsonN`), "", []*corev1.Secret{good}, []string{`"MD5"`, "unknown"}},
		{"hash algorithm that hashes nothing", replace(t, signed, `{"hashAlgorithm":"SHA-256","normalisationAlgorithm":"jsonN`, `{"hashAlgorithm":"NO-DIGEST","normalisationAlgorithm":"jsonN`), "", []*corev1.Secret{good}, []string{`"NO-DIGEST"`, "unknown"}},
		{"unknown normalisation", replace(t, signed, "jsonNormalisation/v3", "jsonNormalisation/v9"), "", []*corev1.Secret{good}, []string{`"jsonNormalisation/v9"`, "unknown"}},
		{"one name twice", signer{private: theirs()}.sign(t, signed), "", []*corev1.Secret{good}, []string{`"kyma"`, "twice"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			secrets := make([]*corev1.Secret, 0, len(c.secrets))
			for _, one := range c.secrets {
				secrets = append(secrets, one.DeepCopy())
			}
			err := newFixture(t, signature.Require, secrets...).verify(t, c.raw, c.required)
			require.ErrorIs(t, err, signature.ErrSignature)
			for _, part := range c.says {
				require.ErrorContains(t, err, part)
			}
			decoded, decodeErr := descriptor.Decode([]byte(c.raw))
			require.NoError(t, decodeErr)
			for _, one := range decoded.Signatures {
				require.NotContains(t, err.Error(), one.Signature.Value[:16], "the value of the signature")
			}
			for _, one := range secrets {
				if block, _ := pem.Decode(one.Data["key"]); block != nil {
					body := strings.SplitN(string(one.Data["key"]), "\n", 3)[1]
					require.NotContains(t, err.Error(), body, "key material")
				}
			}
		})
	}
}

func TestEverySignatureWithAKeyMustVerifyAndOneMustHaveAKey(t *testing.T) {
	both := signer{name: "vendor", private: theirs()}.sign(t, signer{}.sign(t, descriptV2))
	kyma, vendor := secret("kyma", "kyma", pkcs1(ours())), secret("vendor", "vendor", pkcs1(theirs()))
	wrongVendor := secret("vendor", "vendor", pkcs1(ours()))

	require.NoError(t, newFixture(t, signature.Require, kyma.DeepCopy(), vendor.DeepCopy()).verify(t, both))
	require.NoError(t, newFixture(t, signature.Require, kyma.DeepCopy()).verify(t, both))
	require.NoError(t, newFixture(t, signature.Require, vendor.DeepCopy()).verify(t, both))
	require.NoError(t, newFixture(t, signature.Require, kyma.DeepCopy(), wrongVendor.DeepCopy()).verify(t, both, "kyma"),
		"the signature that the template names decides")

	require.ErrorContains(t, newFixture(t, signature.Require, kyma.DeepCopy(), wrongVendor.DeepCopy()).verify(t, both), "kcp-system/vendor")
	require.ErrorContains(t, newFixture(t, signature.Require).verify(t, both), `"kyma", "vendor"`)
	require.ErrorContains(t, newFixture(t, signature.Require, kyma.DeepCopy()).verify(t, both, "vendor"), "signature=vendor")
}

func TestTheFormOfTheProviderDoesNotMatter(t *testing.T) {
	w := newFixture(t, signature.Require, secret("keys", "kyma", pkcs1(ours())))
	asObject := signer{}.sign(t, replace(t, descriptV2, "provider: internal", "provider: {name: internal}"))
	require.NoError(t, w.verify(t, asObject))
	require.NoError(t, w.verify(t, replace(t, asObject, `"provider":"internal"`, `"provider":{"name":"internal"}`)))
}

func TestAnUnreadableDescriptorIsInvalid(t *testing.T) {
	w := newFixture(t, signature.IfSigned)
	err := w.verify(t, `{"meta":{"schemaVersion":"v2"},"component":{}}`)
	require.ErrorIs(t, err, descriptor.ErrInvalid)
	require.NotErrorIs(t, err, signature.ErrSignature)
	require.Zero(t, w.requests())
}

func TestManyKymasShareOneVerificationAndOneReadOfTheKeys(t *testing.T) {
	w := newFixture(t, signature.IfSigned, secret("keys", "kyma", pkcs1(ours())))
	signed := []byte(signer{}.sign(t, descriptV2))
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			for range 200 {
				if err := w.Verify(context.Background(), signed, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, 1, w.requests())
	w.later(6 * time.Second)
	require.NoError(t, w.verify(t, string(signed)))
	require.Equal(t, 2, w.requests())
}

func TestSecretsAreNotReadIfNoKeyIsNeeded(t *testing.T) {
	ignoring := newFixture(t, signature.Ignore)
	require.NoError(t, ignoring.verify(t, signer{}.sign(t, descriptV2)))
	require.Zero(t, ignoring.requests())
	unsigned := newFixture(t, signature.IfSigned)
	require.NoError(t, unsigned.verify(t, descriptV2))
	require.Zero(t, unsigned.requests())
}

func TestAChangedKeyTakesEffectAfterAFewSeconds(t *testing.T) {
	stored := secret("keys", "kyma", pkcs1(theirs()))
	w := newFixture(t, signature.Require, stored)
	signed := signer{}.sign(t, descriptV2)
	require.ErrorIs(t, w.verify(t, signed), signature.ErrSignature)
	before, err := w.Fingerprint(t.Context())
	require.NoError(t, err)

	var live corev1.Secret
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(stored), &live))
	live.Data["key"] = pkcs1(ours())
	require.NoError(t, w.client.Update(t.Context(), &live))
	w.later(5 * time.Second)
	require.NoError(t, w.verify(t, signed))
	after, err := w.Fingerprint(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, before, after)

	live.Annotations = map[string]string{"note": "no matter"}
	require.NoError(t, w.client.Update(t.Context(), &live))
	w.later(5 * time.Second)
	unchanged, err := w.Fingerprint(t.Context())
	require.NoError(t, err)
	require.Equal(t, after, unchanged)

	require.NoError(t, w.client.Delete(t.Context(), &live))
	w.later(5 * time.Second)
	require.ErrorContains(t, w.verify(t, signed), "is missing")
}

func TestAFailedReadOfTheSecretsIsNotARefusal(t *testing.T) {
	w := newFixture(t, signature.Require, secret("keys", "kyma", pkcs1(ours())))
	signed := signer{}.sign(t, descriptV2)
	w.failWith(apierrors.NewTooManyRequests("slow down", 1))
	err := w.verify(t, signed)
	require.Error(t, err)
	require.NotErrorIs(t, err, signature.ErrSignature)
	require.True(t, apierrors.IsTooManyRequests(err))
	w.failWith(nil)
	require.NoError(t, w.verify(t, signed), "failures are not kept")

	w.later(5 * time.Second)
	w.failWith(errors.New("no connection"))
	require.Error(t, w.verify(t, signed), "expired keys are not used")
}
