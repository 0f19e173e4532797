// Package signature verifies the signatures of component descriptors before anything in them is fetched
// (docs/design/install-and-drift.md#signatures).
//
// A process makes one Verifier with New. Verifier.Verify accepts or refuses a descriptor; each refusal wraps
// ErrSignature. Verifier.Fingerprint changes if descriptors must be verified again.
//
// Invariants:
//
//   - The signed digests must match the content that would be fetched, because a signature does not cover the access.
//   - Only RSA over SHA-2 is accepted, from a fixed list (algorithms).
//   - Keys come only from Secrets in one namespace, and are never older than Options.KeysTTL.
//   - Messages hold neither keys nor values of signatures, and never the library's errors.
package signature

import "fmt"

// Policy decides which descriptors need a valid signature.
type Policy string

const (
	// Ignore verifies nothing.
	Ignore Policy = "ignore"
	// IfSigned verifies descriptors that carry a signature, and descriptors with a ModuleTemplate that names a
	// signature in its label. It finds mistakes. It does not stop an attacker who can remove the signature together
	// with the label.
	IfSigned Policy = "if-signed"
	// Require also refuses descriptors without a signature.
	Require Policy = "require"
)

// ParsePolicy parses the value of the flag --signature-policy.
func ParsePolicy(value string) (Policy, error) {
	switch policy := Policy(value); policy {
	case Ignore, IfSigned, Require:
		return policy, nil
	default:
		return "", fmt.Errorf("signature policy %q: must be %s, %s or %s", value, Ignore, IfSigned, Require)
	}
}
