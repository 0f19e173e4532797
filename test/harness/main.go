package harness

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Main runs the tests of a package, as its TestMain, with a logger for controller-runtime that says nothing: without one
// it prints a stack trace among the results.
func Main(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}
