// Package signature verifies the signatures of component descriptors, before anything that they describe is
// fetched (docs/design/install-and-drift.md#signatures).
package signature

import "fmt"

// Policy says which descriptors need a signature that verifies.
type Policy string

const (
	// Ignore verifies nothing.
	Ignore Policy = "ignore"
	// IfSigned verifies descriptors that carry a signature, or whose ModuleTemplate names one by its label.
	// It finds mistakes; it does not keep out somebody who can take the signature away together with the label.
	IfSigned Policy = "if-signed"
	// Require refuses, beyond that, descriptors without a signature.
	Require Policy = "require"
)

// ParsePolicy reads the value of the flag --signature-policy.
func ParsePolicy(value string) (Policy, error) {
	switch policy := Policy(value); policy {
	case Ignore, IfSigned, Require:
		return policy, nil
	default:
		return "", fmt.Errorf("signature policy %q: must be %s, %s or %s", value, Ignore, IfSigned, Require)
	}
}
