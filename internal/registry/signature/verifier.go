package signature

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lately"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// ErrSignature is wrapped by every refusal of a signature. A retry helps only after a change of the descriptor, its
// ModuleTemplate or the Secret with the key. Messages name the signature and the Secret. They hold neither keys nor
// values of signatures.
var ErrSignature = errors.New("signature not accepted")

// results is the number of results that a Verifier keeps: more than the number of versions in use.
const results = 2048

// Options configures a Verifier.
type Options struct {
	// Policy is required.
	Policy Policy
	// Keys reads Secrets in the control plane without a cache. It may be nil under Ignore.
	Keys client.Reader
	// Namespace is the namespace of the Secrets with keys; kcp-system by default. It does not depend on the
	// ModuleTemplate's namespace, because write access to these Secrets controls the keys that all Kymas trust.
	Namespace string
	// KeysTTL is how long read Secrets are used; 5 s by default.
	KeysTTL time.Duration
	// Clock is time.Now by default.
	Clock func() time.Time
}

// Verifier verifies each descriptor once, whatever number of Kymas use it. It is safe for concurrent use.
type Verifier struct {
	policy Policy
	keys   *keyStore
	signed *lately.Cache[[sha256.Size]byte, signed]
	known  *lately.Cache[question, error]
}

// signed holds the names of a descriptor's signatures, or the error if the descriptor cannot be read.
type signed struct {
	names []string
	err   error
}

// question holds everything that the result of a verification depends on.
type question struct {
	descriptor [sha256.Size]byte
	required   string
	keys       [sha256.Size]byte
}

// New returns a Verifier. It sends no request.
func New(options Options) (*Verifier, error) {
	policy, err := ParsePolicy(string(options.Policy))
	if err != nil {
		return nil, err
	}
	if policy != Ignore && options.Keys == nil {
		return nil, errors.New("signature: a reader of Secrets must be given")
	}
	options.Namespace = cmp.Or(options.Namespace, shared.NamespaceControlPlane)
	if options.KeysTTL <= 0 {
		options.KeysTTL = keysTTL
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &Verifier{
		policy: policy, keys: newKeyStore(options),
		signed: lately.New[[sha256.Size]byte, signed](results), known: lately.New[question, error](results),
	}, nil
}

// Required reports whether the policy is Require.
func (v *Verifier) Required() bool { return v.policy == Require }

// Verify returns an error if the policy does not allow a descriptor. raw is the descriptor as embedded or fetched;
// labels are the labels of its ModuleTemplate.
//
// If the label operator.kyma-project.io/signature of the ModuleTemplate has a value, it names the only signature that
// counts. That signature must exist and verify, even under IfSigned. Without the label, every signature with a known
// key must verify, and at least one signature must have a known key: descriptors collect signatures of other parties,
// and this control plane does not have those keys.
//
// In addition, the layers must be the signed ones. A signature does not cover the access of a resource, only the digest
// of its content, so the two must match. Otherwise an attacker could exchange a layer.
//
// A refusal wraps ErrSignature. An unreadable descriptor causes an error that wraps descriptor.ErrInvalid. Any other
// error comes from reading Secrets, and may be temporary.
func (v *Verifier) Verify(ctx context.Context, raw []byte, labels map[string]string) error {
	if v.policy == Ignore {
		return nil
	}
	sum := sha256.Sum256(raw)
	carried := v.signaturesOf(sum, raw)
	if carried.err != nil {
		return carried.err
	}
	required := labels[shared.LabelSignature]
	if len(carried.names) == 0 {
		return unsigned(v.policy, required)
	}
	keys, err := v.keys.current(ctx)
	if err != nil {
		return err
	}
	asked := question{descriptor: sum, required: required, keys: keys.version}
	if known, ok := v.known.Get(asked); ok {
		return known
	}
	err = verify(raw, required, keys)
	v.known.Add(asked, err)
	return err
}

// Fingerprint changes if the policy, a key or the Secret of a signature changes. Descriptors must then be verified
// again. All processes compute the same fingerprint.
func (v *Verifier) Fingerprint(ctx context.Context) (string, error) {
	if v.policy == Ignore {
		return string(Ignore), nil
	}
	keys, err := v.keys.current(ctx)
	if err != nil {
		return "", err
	}
	return string(v.policy) + ":" + hex.EncodeToString(keys.content[:8]), nil
}

func (v *Verifier) signaturesOf(sum [sha256.Size]byte, raw []byte) signed {
	if known, ok := v.signed.Get(sum); ok {
		return known
	}
	var found signed
	decoded, err := descriptor.Decode(raw)
	if err != nil {
		found.err = err
	} else {
		for _, one := range decoded.Signatures {
			found.names = append(found.names, one.Name)
		}
	}
	v.signed.Add(sum, found)
	return found
}

// unsigned returns an error if the policy or the label refuses a descriptor without a signature.
func unsigned(policy Policy, required string) error {
	switch {
	case required != "":
		return refuse("the ModuleTemplate's label %s names signature %s, but the component descriptor is not signed: "+
			"sign it under this name, or remove the label", shared.LabelSignature, short(required))
	case policy == Require:
		return refuse("the component descriptor is not signed, which the signature policy requires: sign it, " +
			"and put the public key into a Secret")
	default:
		return nil
	}
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrSignature, fmt.Errorf(format, args...))
}

// short quotes a foreign name. A signature's name must be a label value to have a key, so at most 63 bytes matter.
func short(name string) string {
	const most = 63
	if len(name) > most {
		name = name[:most] + "…"
	}
	return fmt.Sprintf("%q", name)
}
