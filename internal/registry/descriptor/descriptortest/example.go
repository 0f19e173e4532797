// Package descriptortest holds a component descriptor for tests on both sides: of the tool that writes it, and of the
// code that reads it.
package descriptortest

import _ "embed"

// Example is a complete descriptor, as the module tool writes it.
//
//go:embed example.json
var Example []byte
