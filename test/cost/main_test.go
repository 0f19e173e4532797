// Package cost counts the requests that the work on clusters takes, and compares them with what they may be
// (docs/performance.md). The workers, workflows and activities are those of the product.
package cost

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestMain(m *testing.M) {
	// What controller-runtime logs is no matter of these tests, and without a logger it complains.
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}
