package harness

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// SampleGVK is the kind of the sample module's custom resources (test/modules/sample).
var SampleGVK = schema.GroupVersionKind{Group: "sample.kyma-project.io", Version: "v1alpha1", Kind: "Sample"}

// Push packs the module in a folder of this repository, pushes it and adds it to the catalog in the control plane.
func (s *Environment) Push(folder string) {
	s.T.Helper()
	path := filepath.Join(testfleet.Root(s.T), folder)
	documents := s.Run(testfleet.Binary(s.T, "module"), "push", path, "--registry", s.Registry, "--plain-http")
	s.Apply(s.ControlPlane, ControlPlaneNamespace, documents)
}

// SampleState is the state of the one Sample in a cluster.
func SampleState(t *testing.T, c cluster.Cluster) string {
	t.Helper()
	samples := &unstructured.UnstructuredList{}
	samples.SetGroupVersionKind(SampleGVK)
	require.NoError(t, c.List(t.Context(), samples))
	require.Len(t, samples.Items, 1)
	state, _, err := unstructured.NestedString(samples.Items[0].Object, "status", "state")
	require.NoError(t, err)
	return state
}

// AddSampleFinalizer adds a finalizer to the default custom resource of the sample module, and returns it.
func (s *Environment) AddSampleFinalizer(t *testing.T, finalizer string) *unstructured.Unstructured {
	t.Helper()
	samples := &unstructured.UnstructuredList{}
	samples.SetGroupVersionKind(SampleGVK)
	require.NoError(t, s.Remote.List(t.Context(), samples))
	require.Len(t, samples.Items, 1)
	sample := &samples.Items[0]
	patch := client.RawPatch("application/json-patch+json", []byte(`[{"op":"add","path":"/metadata/finalizers","value":["`+finalizer+`"]}]`))
	require.NoError(t, s.Remote.Patch(t.Context(), sample, patch))
	return sample
}

// serveSamples runs the operator of the sample module for all clusters until the end of the test.
func (s *Environment) serveSamples() {
	s.T.Helper()
	s.operatorLog = filepath.Join(s.T.TempDir(), "sample-operator.log")
	log, err := os.Create(s.operatorLog)
	require.NoError(s.T, err)
	args := []string{"--kubeconfig", s.ControlPlane.Kubeconfig}
	for _, remote := range s.Remotes {
		args = append(args, "--kubeconfig", remote.Kubeconfig)
	}
	operator := process.Start(s.T, log, s.Variables(), testfleet.Binary(s.T, "sample-operator"), args...)
	s.T.Cleanup(func() {
		operator.Stop(syscall.SIGTERM)
		_ = log.Close()
	})
}
