package lifecycle

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// define makes the kind Sample known to the remote cluster, outside of the module.
func (s *environment) define() {
	s.Helper()
	crd := &unstructured.Unstructured{}
	text := strings.Split(strings.ReplaceAll(crdYAML, "ID", s.id), "\nstatus:")[0]
	require.NoError(s, yaml.Unmarshal([]byte(text), &crd.Object))
	require.NoError(s, s.remote.Create(context.Background(), crd))
}

const sampleYAML = "apiVersion: ID.example.com/v1\nkind: Sample\nmetadata: {name: one"

func TestAnOptionalObjectIsAppliedWhenItsKindAppears(t *testing.T) {
	s := newEnvironment(t, operatorYAML+sampleYAML+`, annotations: {operator.kyma-project.io/optional: "true"}}`, nil)
	s.installReady()
	require.Equal(t, []string{s.id + ".example.com/v1/Sample"}, s.read().Status.Skipped)
	changed, requests := s.probe()
	require.False(t, changed)
	require.Len(t, requests, 5+1, "one list of each kind, and one request for the API version that is missing")

	s.define()
	require.Eventually(t, func() bool { changed, _ = s.probe(); return changed }, time.Minute, 100*time.Millisecond)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "one"))
	require.Empty(t, s.read().Status.Skipped)
	changed, requests = s.probe()
	require.False(t, changed)
	require.Len(t, requests, 6, "one list of each kind, and none for the API version")
}

// undefine removes the kind Sample again, and waits until the remote cluster no longer serves it.
func (s *environment) undefine() {
	s.Helper()
	ctx := context.Background()
	require.NoError(s, s.remote.Delete(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "samples." + s.id + ".example.com"}}))
	cluster, err := s.activities.Steps.Target(ctx, s.read())
	require.NoError(s, err)
	raw := cluster.Discovery.RESTClient()
	require.Eventually(s, func() bool {
		discovery := raw.Get().AbsPath("/apis/" + s.id + ".example.com/v1").Do(ctx).Error()
		list := raw.Get().AbsPath("/apis/" + s.id + ".example.com/v1/samples").Do(ctx).Error()
		return apierrors.IsNotFound(discovery) && apierrors.IsNotFound(list)
	}, 3*time.Minute, 100*time.Millisecond)
}

const optionalSampleYAML = operatorYAML + sampleYAML + `, annotations: {operator.kyma-project.io/optional: "true"}}`

func (s *environment) recordsSample() bool {
	s.Helper()
	return slices.ContainsFunc(s.read().Status.Inventory, func(e v1beta2.InventoryEntry) bool {
		gvk, _, err := e.Object()
		return err == nil && gvk.Kind == "Sample" && e.UID != "" && !e.Leaving
	})
}

func TestAnOptionalObjectWhoseKindDisappearsIsSkippedUntilItIsBack(t *testing.T) {
	s := newEnvironment(t, optionalSampleYAML, nil)
	s.define()
	require.Eventually(t, func() bool { return s.apply().Outcome == manifests.OutcomeApplied && s.recordsSample() }, time.Minute, 100*time.Millisecond)
	s.report(s.ready(readiness.Observed{State: shared.StateProcessing}), true)

	s.undefine()
	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	m := s.read()
	require.Equal(t, []string{s.id + ".example.com/v1/Sample"}, m.Status.Skipped)
	require.False(t, s.recordsSample())
	require.Equal(t, shared.StateReady, s.ready(readiness.Observed{State: shared.StateProcessing}).State)
	changed, _ := s.probe()
	require.False(t, changed, "that the kind is gone is known by now")

	s.define()
	require.Eventually(t, func() bool { changed, _ = s.probe(); return changed }, time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool { return s.apply().Outcome == manifests.OutcomeApplied && s.recordsSample() }, time.Minute, 100*time.Millisecond)
	require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "one"))
	require.Empty(t, s.read().Status.Skipped)
}

func TestAnOptionalObjectWhoseKindIsUnknownForAMomentStays(t *testing.T) {
	s := newEnvironment(t, optionalSampleYAML, nil)
	s.define()
	require.Eventually(t, func() bool { return s.apply().Outcome == manifests.OutcomeApplied && s.recordsSample() }, time.Minute, 100*time.Millisecond)
	s.report(s.ready(readiness.Observed{State: shared.StateProcessing}), true)
	before := s.get("ID.example.com/v1", "Sample", "ID-remote", "one").GetUID()

	cluster, err := s.activities.Steps.Target(context.Background(), s.read())
	require.NoError(t, err)
	cluster.Mapper.Reset()
	var once atomic.Bool
	s.requests.intercept(func(r *http.Request) error {
		if r.URL.Path == "/apis/"+s.id+".example.com/v1" && once.CompareAndSwap(false, true) {
			return apierrors.NewNotFound(schema.GroupResource{}, "")
		}
		return nil
	})
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.True(t, once.Load())
	require.Equal(t, []string{s.id + ".example.com/v1/Sample"}, s.read().Status.Skipped)
	live := s.get("ID.example.com/v1", "Sample", "ID-remote", "one")
	require.NotNil(t, live)
	require.Nil(t, live.GetDeletionTimestamp())

	changed, _ := s.probe()
	require.True(t, changed, "it is known again")
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.True(t, s.recordsSample())
	require.Equal(t, before, s.get("ID.example.com/v1", "Sample", "ID-remote", "one").GetUID())
	require.Empty(t, s.read().Status.Skipped)
}

func TestAMissingAPIIsAnErrorAfterAWhileAndIsUsedWhenItAppears(t *testing.T) {
	s := newEnvironment(t, operatorYAML+sampleYAML+"}", nil)
	result := s.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateProcessing, result.Observed.State)
	require.Equal(t, readiness.ReasonMissingAPI, result.Observed.Reason)
	s.report(result.Observed, false)
	later := time.Now().Add(11 * time.Minute)
	s.activities.Steps.Options.Clock = func() time.Time { return later }
	result = s.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, readiness.ReasonMissingAPI, result.Observed.Reason)
	require.Contains(t, result.Observed.Message, "the cluster does not serve "+s.id+".example.com/v1, Kind=Sample")

	s.define()
	require.Eventually(t, func() bool { result = s.apply(); return result.Outcome == manifests.OutcomeApplied }, time.Minute, 200*time.Millisecond, result.Observed.Message)
}
