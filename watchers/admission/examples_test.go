package admission

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Every file in examples/ is accepted as it is: by the schemas and rules of the definitions and by this webhook. No
// file has a field that the API server would drop.
func TestTheExamplesAreAccepted(t *testing.T) {
	s := newStand(t)
	files, err := filepath.Glob(filepath.Join(testfleet.Root(t), "examples", "*.yaml"))
	require.NoError(t, err)
	created := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, document := range strings.Split(string(content), "\n---\n") {
			object := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object), file)
			require.NoError(t, s.tryToCreate(object), "%s: %s %s", filepath.Base(file), object.GetKind(), object.GetName())
			require.Empty(t, s.warnings.take(), file)
			created++
		}
	}
	require.Greater(t, created, 9)

	unknown := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte("{apiVersion: operator.kyma-project.io/v1beta2, kind: Kyma, "+
		"metadata: {name: unknown}, spec: {modules: [{name: sample, chanel: fast}]}}"), &unknown.Object))
	require.ErrorContains(t, s.tryToCreate(unknown), `unknown field "spec.modules[0].chanel"`)
}

// tryToCreate lets the API server do everything except store the object, in the test's namespace.
func (s *stand) tryToCreate(object client.Object) error {
	object.SetNamespace(s.namespace)
	return s.client.Create(context.Background(), object,
		&client.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
}
