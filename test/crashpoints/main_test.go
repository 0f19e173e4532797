// Package crashpoints cuts the work on a Manifest off before and after each of its writes, and has another worker take it
// over: every run must have the same result as an undisturbed one.
//
// CRASHPOINTS=all runs every point (make crashpoints); otherwise it is a sample.
package crashpoints

import (
	"testing"

	"go.temporal.io/sdk/worker"

	"github.com/kyma-project/lifecycle-manager/test/harness"
)

func TestMain(m *testing.M) {
	// Workers of one process share a cache of workflows. A worker that takes over has no state of the other.
	worker.SetStickyWorkflowCacheSize(0)
	harness.Main(m)
}
