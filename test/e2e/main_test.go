// Package e2e runs Lifecycle Manager as a process on the local fleet and checks the result: in
// the control plane, in real remote clusters, and in Temporal.
//
// Each test has a harness.Environment: a fleet for itself, and an instance in a Temporal namespace of its own. As many
// tests run at the same time as there are fleets.
package e2e

import (
	"testing"

	"github.com/kyma-project/lifecycle-manager/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
