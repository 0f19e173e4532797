// Package crashpoints cuts the work on a Manifest off before and after each of its writes, and has it taken up again
// by another worker: every run must come to the same end as one that was left alone.
//
// CRASHPOINTS=all runs every point (make crashpoints); otherwise it is a sample.
package crashpoints

import (
	"testing"

	"go.temporal.io/sdk/worker"

	"github.com/kyma-project/lifecycle-manager/test/harness"
)

func TestMain(m *testing.M) {
	// Workers of one process share a cache of workflows. A worker that takes over has nothing of the other's memory.
	worker.SetStickyWorkflowCacheSize(0)
	harness.Main(m)
}
