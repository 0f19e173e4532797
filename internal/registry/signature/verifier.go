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

// ErrSignature is wrapped by every refusal of a signature: trying again helps only after the descriptor, its
// ModuleTemplate or the Secret with the key was changed. Messages name signature and Secret; they hold neither
// keys nor the values of signatures.
var ErrSignature = errors.New("signature not accepted")

// results is how many results a Verifier keeps: more than a catalog has versions in use.
const results = 2048

// Options are what a Verifier needs.
type Options struct {
	// Policy must be given.
	Policy Policy
	// Keys reads Secrets in the control plane, live. It may be nil under Ignore.
	Keys client.Reader
	// Namespace is where the Secrets with keys are; kcp-system by default. It is one, whatever namespace a
	// ModuleTemplate is in, for who may write a Secret there decides whom all trust.
	Namespace string
	// KeysTTL is how long Secrets that were read are used; 5 s by default.
	KeysTTL time.Duration
	// Clock is time.Now by default.
	Clock func() time.Time
}

// Verifier verifies descriptors, each once, whatever number of Kymas use it. It is safe for concurrent use.
type Verifier struct {
	policy Policy
	keys   *keyStore
	signed *lately.Cache[[sha256.Size]byte, signed]
	known  *lately.Cache[question, error]
}

// signed says which signatures a descriptor carries; err where it cannot be read.
type signed struct {
	names []string
	err   error
}

// question is what the result of a verification depends on.
type question struct {
	descriptor [sha256.Size]byte
	required   string
	keys       [sha256.Size]byte
}

// New returns a Verifier. It makes no request.
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

// Verify says whether a descriptor may be used under the policy. raw is the descriptor as embedded or fetched,
// labels are those of its ModuleTemplate.
//
// The ModuleTemplate's label operator.kyma-project.io/signature, where it is there with a value, names the one
// signature that must be there and verify, also under IfSigned. Without it, every signature that there is a key
// for must verify, and at least one must: descriptors gather signatures of others on their way, whose keys
// nobody here has.
//
// Besides, the layers must be those that were signed. A signature does not cover where a resource is accessed,
// only the digest of its content, so the two must agree; nothing else would keep a layer from being exchanged.
//
// A refusal wraps ErrSignature, a descriptor that cannot be read descriptor.ErrInvalid. Any other error is one of
// reading Secrets, and may go away.
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

// Fingerprint changes when the policy, a key or the Secret for a signature changes, and so says when descriptors
// are to be verified again. It is the same in all processes.
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

// unsigned judges a descriptor without any signature.
func unsigned(policy Policy, required string) error {
	switch {
	case required != "":
		return refuse("the ModuleTemplate's label %s names signature %s, but the component descriptor is not signed: "+
			"sign it under this name, or take the label off", shared.LabelSignature, short(required))
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

// short quotes a name that comes from outside. A label value, which a name must be to have a key, has at most 63
// bytes.
func short(name string) string {
	const most = 63
	if len(name) > most {
		name = name[:most] + "…"
	}
	return fmt.Sprintf("%q", name)
}
