package install

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// define makes the kind Sample known to the remote cluster, by somebody else than the module.
func (s *stand) define() {
	s.Helper()
	crd := &unstructured.Unstructured{}
	text := strings.Split(strings.ReplaceAll(crdYAML, "ID", s.id), "\nstatus:")[0]
	require.NoError(s, yaml.Unmarshal([]byte(text), &crd.Object))
	require.NoError(s, s.remote.Create(context.Background(), crd))
}

const sampleYAML = "apiVersion: ID.example.com/v1\nkind: Sample\nmetadata: {name: one"

func TestAnOptionalObjectIsTakenUpWhenItsKindAppears(t *testing.T) {
	s := newStand(t, operatorYAML+sampleYAML+`, annotations: {operator.kyma-project.io/optional: "true"}}`, nil)
	s.installReady()
	require.Equal(t, []string{s.id + ".example.com/v1/Sample"}, s.read().Status.Skipped)
	changed, requests := s.probe()
	require.False(t, changed)
	require.Len(t, requests, 5+1, "one look at each kind, and one at the API version that is not there")

	s.define()
	require.Eventually(t, func() bool { changed, _ = s.probe(); return changed }, time.Minute, 100*time.Millisecond)
	require.Equal(t, OutcomeApplied, s.apply().Outcome)
	require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "one"))
	require.Empty(t, s.read().Status.Skipped)
	changed, requests = s.probe()
	require.False(t, changed)
	require.Len(t, requests, 6, "one look at each kind, and none at the API version")
}

func TestAMissingAPIIsAnErrorAfterAWhileAndIsTakenUpWhenItAppears(t *testing.T) {
	s := newStand(t, operatorYAML+sampleYAML+"}", nil)
	result := s.apply()
	require.Equal(t, shared.StateProcessing, result.Observed.State)
	s.report(result.Observed, false)
	later := time.Now().Add(11 * time.Minute)
	s.activities.options.Clock = func() time.Time { return later }
	result = s.apply()
	require.Equal(t, OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, ReasonMissingAPI, result.Observed.Reason)
	require.Contains(t, result.Observed.Message, "the cluster does not know "+s.id+".example.com/v1, Kind=Sample")

	s.define()
	require.Eventually(t, func() bool { result = s.apply(); return result.Outcome == OutcomeApplied }, time.Minute, 200*time.Millisecond, result.Observed.Message)
}
