package forecast

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/objectdiff"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// deployment returns the Deployment of keda in a version.
func deployment(version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "keda", "namespace": "kyma-system"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "operator", "image": "keda:" + version},
		}}}},
	}}
}

// rendering lets the fixture render modules, and returns the rendered versions, in order.
func (w *fixture) rendering() *[]string {
	rendered := &[]string{}
	w.options.Render = func(_ context.Context, m *v1beta2.Manifest) ([]*unstructured.Unstructured, error) {
		*rendered = append(*rendered, m.Spec.Version)
		if m.Spec.Version == "2.0.0" {
			return nil, fault.New(fault.Transient, "RegistryUnavailable", "the registry does not answer").WithHint("start it")
		}
		return []*unstructured.Unstructured{deployment(m.Spec.Version)}, nil
	}
	return rendered
}

func text(t *testing.T, f Forecast) string {
	t.Helper()
	b := &bytes.Buffer{}
	require.NoError(t, f.WriteText(b))
	return b.String()
}

func TestTheObjectsOfTwoVersionsAreComparedOnceForAllKymas(t *testing.T) {
	w := newFixture(t, 10)
	rendered := w.rendering()
	found := w.forecast(desiredtest.ReleaseMeta("keda", "regular=1.1.0"))
	require.Equal(t, []string{"1.0.0", "1.1.0"}, *rendered)
	require.Equal(t, []ModuleObjects{{Module: "keda", From: "1.0.0", To: "1.1.0", Changes: []objectdiff.Change{{
		Object: "apps/Deployment kyma-system/keda", Kind: objectdiff.Changed,
		Fields: []objectdiff.Field{{Path: ".spec.template.spec.containers[name=operator].image", From: `"keda:1.0.0"`, To: `"keda:1.1.0"`}},
	}}}}, found.Objects)
	require.Contains(t, text(t, found), "and 5 more\n\nkeda 1.0.0 -> 1.1.0: objects: 1 changed\n"+
		`~ apps/Deployment kyma-system/keda: .spec.template.spec.containers[name=operator].image "keda:1.0.0" -> "keda:1.1.0"`+"\n")
	written := &bytes.Buffer{}
	require.NoError(t, found.WriteJSON(written))
	var read Forecast
	require.NoError(t, json.Unmarshal(written.Bytes(), &read))
	require.Equal(t, found.Objects, read.Objects)
}

func TestTheObjectsOfAModuleThatIsAddedOrRemovedAreListed(t *testing.T) {
	w := newFixture(t, 2)
	w.rendering()
	another, gone := desiredtest.Kyma("keda"), desiredtest.Kyma()
	another.Name, another.UID, gone.Name = "another", "", "kyma-00"
	found := w.forecast(another, gone)
	require.Equal(t, []ModuleObjects{
		{Module: "keda", To: "1.0.0", Changes: []objectdiff.Change{{Object: "apps/Deployment kyma-system/keda", Kind: objectdiff.Added}}},
		{Module: "keda", From: "1.0.0", Changes: []objectdiff.Change{{Object: "apps/Deployment kyma-system/keda", Kind: objectdiff.Removed}}},
	}, found.Objects)
	require.Contains(t, text(t, found), "\nkeda - -> 1.0.0: objects: 1 added\n+ apps/Deployment kyma-system/keda\n")
	require.Contains(t, text(t, found), "\nkeda 1.0.0 -> -: objects: 1 removed\n- apps/Deployment kyma-system/keda\n")
}

func TestAVersionThatCannotBeRenderedIsReportedAsAProblem(t *testing.T) {
	w := newFixture(t, 2)
	w.rendering()
	found := w.forecast(desiredtest.Template("keda", "2.0.0"), desiredtest.ReleaseMeta("keda", "regular=2.0.0"))
	require.Equal(t, []ModuleObjects{{Module: "keda", From: "1.0.0", To: "2.0.0", Problem: "version 2.0.0: the registry does not answer (start it)"}}, found.Objects)
	require.Contains(t, text(t, found), "keda 1.0.0 -> 2.0.0: the objects could not be compared: version 2.0.0: the registry does not answer")
	require.Equal(t, 2, found.Changed)
}

// never is a maintenance policy without a window.
type never struct{}

func (never) Window(map[string]string) planning.Wait { return planning.Wait{Problem: "there is none"} }

func TestTheObjectsOfAVersionThatWaitsForAWindowAreComparedToo(t *testing.T) {
	w := newFixture(t, 3)
	rendered := w.rendering()
	w.options.Planner.Windows = never{}
	template := desiredtest.Template("keda", "1.1.0")
	template.Spec.RequiresDowntime = true
	found := w.forecast(template, desiredtest.ReleaseMeta("keda", "regular=1.1.0"))
	require.Equal(t, Waits, found.Groups[0].Kind)
	require.Equal(t, []string{"1.0.0", "1.1.0"}, *rendered)
	require.Len(t, found.Objects, 1)
	require.Equal(t, "1.1.0", found.Objects[0].To)
	require.Len(t, found.Objects[0].Changes, 1)
}

func TestChangesThatMoveNothingAreNotRendered(t *testing.T) {
	w := newFixture(t, 3)
	rendered := w.rendering()
	refused := w.forecast(desiredtest.ReleaseMeta("keda", "regular=3.0.0"))
	require.Equal(t, Refused, refused.Groups[0].Kind)
	require.Empty(t, refused.Objects)
	require.True(t, w.forecast().IsEmpty())
	require.Empty(t, *rendered)
}
