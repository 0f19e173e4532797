// Package descriptortest has what tests on both sides of a component descriptor compare with: of the tool that writes
// it, and of those that read it.
package descriptortest

import _ "embed"

// Example is a descriptor in full, as the module tool writes it.
//
//go:embed example.json
var Example []byte
