package conformance_test

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	// Kubernetes' libraries log what they do.
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}
