// Package crashpoints cuts the work on a Manifest off before and after each of its writes, and has it taken up again
// by another worker: every run must come to the same end as one that was left alone.
//
// CRASHPOINTS=all runs every point (make crashpoints); otherwise it is a sample.
package crashpoints

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"go.temporal.io/sdk/worker"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestMain(m *testing.M) {
	// What controller-runtime logs is no matter of these tests, and without a logger it complains.
	log.SetLogger(logr.Discard())
	// Workers of one process share a cache of workflows. A worker that takes over has nothing of the other's memory.
	worker.SetStickyWorkflowCacheSize(0)
	os.Exit(m.Run())
}
