package readiness

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestMapState(t *testing.T) {
	t.Parallel()
	health := func(value string, state shared.State) v1beta2.CustomStateCheck {
		return v1beta2.CustomStateCheck{JSONPath: "status.health", Value: value, MappedState: state}
	}
	traffic := []v1beta2.CustomStateCheck{health("green", shared.StateReady), health("blue", shared.StateReady), health("red", shared.StateError)}
	both := append([]v1beta2.CustomStateCheck{{JSONPath: "{.status.nodes}", Value: "3", MappedState: shared.StateReady}}, traffic...)
	tests := []struct {
		name   string
		status any
		checks []v1beta2.CustomStateCheck
		want   shared.State
	}{
		{"no status at all", nil, nil, shared.StateProcessing},
		{"a state", map[string]any{"state": "Ready"}, nil, shared.StateReady},
		{"a warning", map[string]any{"state": "Warning"}, nil, shared.StateWarning},
		{"an error", map[string]any{"state": "Error"}, nil, shared.StateError},
		{"deleting", map[string]any{"state": "Deleting"}, nil, shared.StateDeleting},
		{"an empty state", map[string]any{"state": ""}, nil, shared.StateProcessing},
		{"an unknown state", map[string]any{"state": "Fine"}, nil, shared.StateProcessing},
		{"a state that only we set", map[string]any{"state": "Unmanaged"}, nil, shared.StateProcessing},
		{"a state that is not a string", map[string]any{"state": int64(1)}, nil, shared.StateProcessing},
		{"a status that is not an object", "Ready", nil, shared.StateProcessing},
		{"a check that matches", map[string]any{"health": "green"}, traffic, shared.StateReady},
		{"the other value for the same path", map[string]any{"health": "blue"}, traffic, shared.StateReady},
		{"a check for an error", map[string]any{"health": "red"}, traffic, shared.StateError},
		{"no check matches", map[string]any{"health": "yellow"}, traffic, shared.StateProcessing},
		{"with checks, the state itself is ignored", map[string]any{"state": "Ready"}, traffic, shared.StateProcessing},
		{"one of two paths", map[string]any{"health": "green"}, both, shared.StateProcessing},
		{"both paths", map[string]any{"health": "green", "nodes": int64(3)}, both, shared.StateReady},
		{"checks for errors only", map[string]any{"health": "green"}, traffic[2:], shared.StateProcessing},
		{
			"a path that cannot be parsed", map[string]any{"health": "green"},
			[]v1beta2.CustomStateCheck{{JSONPath: "{", Value: "x", MappedState: shared.StateReady}}, shared.StateProcessing,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cr := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}}}
			if test.status != nil {
				cr.Object["status"] = test.status
			}
			require.Equal(t, test.want, MapState(cr, test.checks))
			now := metav1.Now()
			cr.SetDeletionTimestamp(&now)
			require.Equal(t, shared.StateDeleting, MapState(cr, test.checks))
		})
	}
}

func TestStateChecksThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	for name, encoded := range map[string]string{
		"not a list":        `{}`,
		"an invalid path":   `[{"jsonPath":"status.ok","value":"x","mappedState":"Ready"},{"jsonPath":"status.nodes[","value":"x","mappedState":"Ready"}]`,
		"an unclosed brace": `[{"jsonPath":"{","value":"x","mappedState":"Ready"}]`,
	} {
		_, err := StateChecks(&v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{desired.AnnotationCustomStateCheck: encoded}}})
		require.Equal(t, fault.Rejected, fault.Of(err).Kind, name)
		require.Equal(t, ReasonInvalidStateCheck, fault.Of(err).Reason, name)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	ready := Health{Total: 3}
	pending := Health{Total: 3, pending: []string{"Deployment ns/b", "Deployment ns/a"}}
	missing := Health{Total: 3, missing: []string{"Deployment ns/a"}, pending: []string{"Deployment ns/b"}, failed: []string{"Job ns/a"}}
	failed := Health{Total: 3, failed: []string{"Job ns/a (BackoffLimitExceeded)"}}
	manager := ManagerHealth{named: true, name: "Deployment ns/manager"}
	cr := func(state shared.State) ModuleCR {
		return ModuleCR{Tracked: true, Exists: true, State: state, name: "Sample ns/default"}
	}
	tests := []struct {
		name    string
		health  Health
		manager ManagerHealth
		cr      ModuleCR
		state   shared.State
		reason  string
		message string
	}{
		{"all is ready and there is no custom resource", ready, ManagerHealth{}, ModuleCR{}, shared.StateReady, ReasonReady, "module is ready"},
		{"resources are pending", pending, ManagerHealth{}, ModuleCR{}, shared.StateProcessing, ReasonResourcesPending, "waiting for Deployment ns/a, Deployment ns/b to become ready"},
		{"a resource is missing", missing, ManagerHealth{}, cr(shared.StateError), shared.StateProcessing, ReasonResourcesMissing, "missing, will be created again: Deployment ns/a"},
		{"a resource failed", failed, ManagerHealth{}, ModuleCR{}, shared.StateError, ReasonResourcesFailed, "1 of 3 resources failed: Job ns/a (BackoffLimitExceeded)"},
		{"the manager is not ready", ready, manager, cr(shared.StateReady), shared.StateProcessing, ReasonManagerPending, "Deployment ns/manager"},
		{"the custom resource has to be created", ready, ManagerHealth{}, ModuleCR{Tracked: true, wanted: true, name: "Sample ns/default"}, shared.StateProcessing, ReasonModuleCRWanted, "creating Sample ns/default"},
		{"the custom resource is not created before the resources are ready", pending, ManagerHealth{}, ModuleCR{Tracked: true, wanted: true}, shared.StateProcessing, ReasonResourcesPending, "waiting"},
		{"a user deleted the custom resource", ready, ManagerHealth{}, ModuleCR{Tracked: true, name: "Sample ns/default"}, shared.StateReady, ReasonModuleCRRemoved, "not created again"},
		{"the custom resource reports nothing yet", ready, ManagerHealth{}, cr(shared.StateProcessing), shared.StateProcessing, ReasonModuleCRPending, "Sample ns/default"},
		{"the custom resource reports ready", ready, ManagerHealth{}, cr(shared.StateReady), shared.StateReady, ReasonReady, "module is ready"},
		{"the custom resource reports ready while resources are pending", pending, ManagerHealth{}, cr(shared.StateReady), shared.StateProcessing, ReasonResourcesPending, "waiting"},
		{"the custom resource reports a warning", ready, ManagerHealth{}, cr(shared.StateWarning), shared.StateWarning, ReasonModuleCRWarning, "reports Warning"},
		{"the custom resource reports an error while resources are pending", pending, ManagerHealth{}, cr(shared.StateError), shared.StateError, ReasonModuleCRError, "reports Error"},
		{"the custom resource is being deleted", ready, ManagerHealth{}, cr(shared.StateDeleting), shared.StateProcessing, ReasonModuleCRDeleting, "is being deleted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := Judge(test.health, test.manager, test.cr)
			require.Equal(t, test.state, o.State)
			require.Equal(t, test.reason, o.Reason)
			require.Contains(t, o.Message, test.message)
			require.EqualValues(t, 3, o.Total)
			require.Equal(t, test.reason == ReasonModuleCRWanted, o.DefaultCRWanted)
			require.Equal(t, o.State == shared.StateReady, o.State == shared.StateReady && ResourcesReady(o.Reason))
		})
	}
}

func TestTheCustomResourceDecidesNothingIfOnlyWorkloadsCount(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	invalid := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{desired.AnnotationCustomStateCheck: "{}"}}}
	for name, test := range map[string]struct {
		manifest *v1beta2.Manifest
		state    string
		deleted  bool
		older    shared.State
	}{
		"it reports an error":          {&v1beta2.Manifest{}, "Error", false, shared.StateError},
		"it reports nothing":           {&v1beta2.Manifest{}, "", false, shared.StateProcessing},
		"it is being deleted":          {&v1beta2.Manifest{}, "Ready", true, shared.StateDeleting},
		"its checks cannot be read":    {invalid, "Warning", false, shared.StateUnknown},
		"it reports that all is ready": {&v1beta2.Manifest{}, "Ready", false, shared.StateReady},
	} {
		cr := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"state": test.state}}}
		if test.deleted {
			cr.SetDeletionTimestamp(&now)
		}
		state, err := ReportedState(shared.StateFromWorkloads, test.manifest, cr)
		require.NoError(t, err, name)
		require.Equal(t, shared.StateReady, state, name)
		state, err = ReportedState(shared.StateFromCustomResource, test.manifest, cr)
		require.Equal(t, test.manifest == invalid, err != nil, name)
		require.Equal(t, test.older, state, name)
	}
}

func TestWhichKindsCount(t *testing.T) {
	t.Parallel()
	for kind, workload := range map[schema.GroupKind]bool{
		{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "StatefulSet"}: true,
		{Group: "apps", Kind: "DaemonSet"}: false, {Group: "batch", Kind: "Job"}: false, {Kind: "PersistentVolumeClaim"}: false,
	} {
		require.True(t, Counts("", kind), kind)
		require.True(t, Counts(shared.StateFromCustomResource, kind), kind)
		require.Equal(t, workload, Counts(shared.StateFromWorkloads, kind), kind)
	}
	require.False(t, Counts("", schema.GroupKind{Kind: "ConfigMap"}))
}
