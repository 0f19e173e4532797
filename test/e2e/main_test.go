// Package e2e runs Lifecycle Manager as a process on the local fleet and looks at what becomes of Kymas: in
// the control plane, in real remote clusters, and in Temporal.
//
// Each test has a fleet for itself as long as it runs, and an instance of its own in a Temporal namespace of its own: a
// harness.Stage. As many tests run side by side as there are fleets.
package e2e

import (
	"testing"

	"github.com/kyma-project/lifecycle-manager/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
