package install

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
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
		{"a state that nobody knows", map[string]any{"state": "Fine"}, nil, shared.StateProcessing},
		{"a state that is ours to give", map[string]any{"state": "Unmanaged"}, nil, shared.StateProcessing},
		{"a state that is no text", map[string]any{"state": int64(1)}, nil, shared.StateProcessing},
		{"a status that is no object", "Ready", nil, shared.StateProcessing},
		{"a check that matches", map[string]any{"health": "green"}, traffic, shared.StateReady},
		{"the other value for the same path", map[string]any{"health": "blue"}, traffic, shared.StateReady},
		{"a check for an error", map[string]any{"health": "red"}, traffic, shared.StateError},
		{"no check matches", map[string]any{"health": "yellow"}, traffic, shared.StateProcessing},
		{"with checks the state itself does not count", map[string]any{"state": "Ready"}, traffic, shared.StateProcessing},
		{"one of two paths", map[string]any{"health": "green"}, both, shared.StateProcessing},
		{"both paths", map[string]any{"health": "green", "nodes": int64(3)}, both, shared.StateReady},
		{"checks for errors only", map[string]any{"health": "green"}, traffic[2:], shared.StateProcessing},
		{"a path that cannot be parsed", map[string]any{"health": "green"}, []v1beta2.CustomStateCheck{{JSONPath: "{", Value: "x", MappedState: shared.StateReady}}, shared.StateProcessing},
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
		"no list":             `{}`,
		"a path that is none": `[{"jsonPath":"status.ok","value":"x","mappedState":"Ready"},{"jsonPath":"status.nodes[","value":"x","mappedState":"Ready"}]`,
		"a brace without end": `[{"jsonPath":"{","value":"x","mappedState":"Ready"}]`,
	} {
		_, err := stateChecks(&v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{desired.AnnotationCustomStateCheck: encoded}}})
		require.Equal(t, fault.Rejected, fault.Of(err).Kind, name)
		require.Equal(t, ReasonInvalidStateCheck, fault.Of(err).Reason, name)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	ready := health{total: 3}
	pending := health{total: 3, pending: []string{"Deployment ns/b", "Deployment ns/a"}}
	missing := health{total: 3, missing: []string{"Deployment ns/a"}, pending: []string{"Deployment ns/b"}, failed: []string{"Job ns/a"}}
	failed := health{total: 3, failed: []string{"Job ns/a (BackoffLimitExceeded)"}}
	manager := managerHealth{named: true, name: "Deployment ns/manager"}
	cr := func(state shared.State) moduleCR {
		return moduleCR{tracked: true, exists: true, state: state, name: "Sample ns/default"}
	}
	tests := []struct {
		name    string
		health  health
		manager managerHealth
		cr      moduleCR
		state   shared.State
		reason  string
		message string
	}{
		{"all is ready and there is no custom resource", ready, managerHealth{}, moduleCR{}, shared.StateReady, ReasonReady, "module is ready"},
		{"resources are pending", pending, managerHealth{}, moduleCR{}, shared.StateProcessing, ReasonResourcesPending, "waiting for Deployment ns/a, Deployment ns/b to become ready"},
		{"a resource is gone", missing, managerHealth{}, cr(shared.StateError), shared.StateProcessing, ReasonResourcesMissing, "gone and to be made again: Deployment ns/a"},
		{"a resource failed", failed, managerHealth{}, moduleCR{}, shared.StateError, ReasonResourcesFailed, "1 of 3 resources failed: Job ns/a (BackoffLimitExceeded)"},
		{"the manager is not ready", ready, manager, cr(shared.StateReady), shared.StateProcessing, ReasonManagerPending, "Deployment ns/manager"},
		{"the custom resource is to be made", ready, managerHealth{}, moduleCR{tracked: true, wanted: true, name: "Sample ns/default"}, shared.StateProcessing, ReasonModuleCRWanted, "making Sample ns/default"},
		{"it is not made before the resources are ready", pending, managerHealth{}, moduleCR{tracked: true, wanted: true}, shared.StateProcessing, ReasonResourcesPending, "waiting"},
		{"its user removed it", ready, managerHealth{}, moduleCR{tracked: true, name: "Sample ns/default"}, shared.StateReady, ReasonModuleCRRemoved, "not made again"},
		{"it says nothing yet", ready, managerHealth{}, cr(shared.StateProcessing), shared.StateProcessing, ReasonModuleCRPending, "Sample ns/default"},
		{"it says ready", ready, managerHealth{}, cr(shared.StateReady), shared.StateReady, ReasonReady, "module is ready"},
		{"it says ready while resources are pending", pending, managerHealth{}, cr(shared.StateReady), shared.StateProcessing, ReasonResourcesPending, "waiting"},
		{"it warns", ready, managerHealth{}, cr(shared.StateWarning), shared.StateWarning, ReasonModuleCRWarning, "reports Warning"},
		{"it says error while resources are pending", pending, managerHealth{}, cr(shared.StateError), shared.StateError, ReasonModuleCRError, "reports Error"},
		{"it is being deleted", ready, managerHealth{}, cr(shared.StateDeleting), shared.StateProcessing, ReasonModuleCRDeleting, "is being deleted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := judge(test.health, test.manager, test.cr)
			require.Equal(t, test.state, o.State)
			require.Equal(t, test.reason, o.Reason)
			require.Contains(t, o.Message, test.message)
			require.EqualValues(t, 3, o.Total)
			require.Equal(t, test.reason == ReasonModuleCRWanted, o.DefaultCRWanted)
			require.Equal(t, o.State == shared.StateReady, o.State == shared.StateReady && resourcesReady(o.Reason))
		})
	}
}

func entry(id, uid string) v1beta2.InventoryEntry {
	return v1beta2.InventoryEntry{ID: id, Version: "v1", UID: uid}
}

func TestInventory(t *testing.T) {
	t.Parallel()
	old := []v1beta2.InventoryEntry{entry("_ConfigMap_ns_a", "1"), entry("_ConfigMap_ns_b", "2")}
	wanted := []v1beta2.InventoryEntry{entry("_ConfigMap_ns_c", ""), {ID: "_ConfigMap_ns_b", Version: "v2"}}

	before := union(old, wanted)
	require.Equal(t, []v1beta2.InventoryEntry{
		{ID: "_ConfigMap_ns_a", Version: "v1", UID: "1", Leaving: true}, {ID: "_ConfigMap_ns_b", Version: "v2", UID: "2"}, entry("_ConfigMap_ns_c", ""),
	}, before, "the union keeps what is known, in the order of ids, and marks what is no longer wanted")
	require.False(t, union(before, old)[0].Leaving, "what is wanted again stays")
	require.Equal(t, before, union(before, wanted), "twice is the same")
	require.Equal(t, old[:1], superseded(old, wanted))
	require.Empty(t, superseded(nil, wanted))

	applied := map[string]v1beta2.InventoryEntry{"_ConfigMap_ns_c": entry("_ConfigMap_ns_c", "3"), "_ConfigMap_ns_x": entry("_ConfigMap_ns_x", "4")}
	after := record(before, applied, map[string]bool{"_ConfigMap_ns_a": true})
	require.Equal(t, []v1beta2.InventoryEntry{{ID: "_ConfigMap_ns_b", Version: "v2", UID: "2"}, entry("_ConfigMap_ns_c", "3")}, after,
		"what was never announced is not recorded, what is gone is dropped")
	require.Equal(t, []v1beta2.SyncedObject{
		{Version: "v2", Kind: "ConfigMap", Namespace: "ns", Name: "b"}, {Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "c"},
	}, syncedOf(after))
	require.Empty(t, ofStage([]v1beta2.InventoryEntry{{ID: "nonsense", Version: "v1"}}, stageConfiguration), "what cannot be read leads to nothing")
}

func TestTheInventorySaysWhatWasAppliedAndOfWhichKinds(t *testing.T) {
	var s v1beta2.ManifestStatus
	setInventory(&s, []v1beta2.InventoryEntry{
		{ID: "_ConfigMap_a_announced", Version: "v1"}, {ID: "_ConfigMap_a_applied", Version: "v1", UID: "1"},
		{ID: "apps_Deployment_a_b", Version: "v1"}, {ID: "unreadable", Version: "v1"},
	})
	require.Equal(t, []string{"/v1/ConfigMap", "apps/v1/Deployment"}, s.Kinds)
	require.Equal(t, []v1beta2.SyncedObject{{Version: "v1", Kind: "ConfigMap", Namespace: "a", Name: "applied"}}, s.Synced)
	require.Len(t, s.Inventory, 4)

	setInventory(&s, nil)
	require.Equal(t, v1beta2.ManifestStatus{}, s)
}

func TestInputsDigestChangesWithEveryInputAndNothingElse(t *testing.T) {
	t.Parallel()
	manifest := func() *v1beta2.Manifest {
		return &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1, Labels: map[string]string{}, Annotations: map[string]string{}}}
	}
	base := InputsDigest(manifest())
	require.Equal(t, base, InputsDigest(manifest()))
	same := manifest()
	same.ResourceVersion, same.Labels["other"], same.Status.State = "7", "x", shared.StateReady
	require.Equal(t, base, InputsDigest(same))
	now := metav1.Now()
	for name, change := range map[string]func(*v1beta2.Manifest){
		"another object":       func(m *v1beta2.Manifest) { m.UID = "v" },
		"another spec":         func(m *v1beta2.Manifest) { m.Generation = 2 },
		"a deletion":           func(m *v1beta2.Manifest) { m.DeletionTimestamp = &now },
		"to be left alone":     func(m *v1beta2.Manifest) { m.Labels[shared.LabelSkipReconciliation] = "true" },
		"unmanaged":            func(m *v1beta2.Manifest) { m.Annotations[shared.AnnotationIsUnmanaged] = "true" },
		"other state checks":   func(m *v1beta2.Manifest) { m.Annotations[desired.AnnotationCustomStateCheck] = "[]" },
		"another namespace":    func(m *v1beta2.Manifest) { m.Annotations[desired.AnnotationRemoteNamespace] = "x" },
		"another strategy":     func(m *v1beta2.Manifest) { m.Annotations[desired.AnnotationRemoteStrategy] = "local-client" },
		"recreating is wanted": func(m *v1beta2.Manifest) { m.Annotations[shared.AnnotationRecreateDefaultCR] = "true" },
	} {
		changed := manifest()
		change(changed)
		require.NotEqual(t, base, InputsDigest(changed), name)
	}
}

func TestWhatAWaitIsWorthTelling(t *testing.T) {
	t.Parallel()
	reported := Observed{State: shared.StateProcessing, Reason: ReasonResourcesPending, Message: "waiting for a, b"}
	other := reported
	other.Message, other.Ready = "waiting for b", 1
	wanted := Observed{State: shared.StateProcessing, Reason: ReasonModuleCRWanted, DefaultCRWanted: true}
	early, late := wait{elapsed: time.Second}, wait{elapsed: time.Minute}
	require.False(t, early.worthTelling(reported, reported))
	require.False(t, early.worthTelling(other, reported), "while it goes quickly, the words do not matter")
	require.True(t, late.worthTelling(other, reported))
	require.True(t, early.worthTelling(Observed{State: shared.StateReady, Reason: ReasonReady}, reported))
	require.True(t, early.worthTelling(wanted, wanted), "what is to be done is told until it is done")
	missing := Observed{State: shared.StateProcessing, Reason: ReasonResourcesMissing, Message: "gone"}
	require.True(t, early.worthTelling(missing, missing), "what no wait brings back needs another look, whatever was reported")
	require.True(t, early.worthTelling(leaving(), leaving()), "a Manifest that is gone needs another look, whatever was reported")
	require.Equal(t, time.Second, early.pause())
	require.Equal(t, 6*time.Second, late.pause())
	require.Equal(t, 30*time.Second, wait{elapsed: time.Hour}.pause())
}

func TestConditionsFollowWhatIsSeen(t *testing.T) {
	t.Parallel()
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	var s v1beta2.ManifestStatus
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	statuses := func() map[string]string {
		all := map[string]string{}
		for _, c := range s.Conditions {
			all[c.Type] = string(c.Status)
		}
		return all
	}
	setObserved(m, &s, Observed{State: shared.StateProcessing, Reason: ReasonInstalling, Message: "installing"}, now)
	require.Equal(t, map[string]string{"Resources": "False", "Installation": "False"}, statuses())
	setObserved(m, &s, Observed{State: shared.StateProcessing, Reason: ReasonModuleCRPending, Message: "waiting"}, now)
	require.Equal(t, map[string]string{"Resources": "True", "Installation": "False"}, statuses())
	setObserved(m, &s, Observed{State: shared.StateReady, Reason: ReasonReady, Message: "ready", Ready: 2, Total: 2}, now)
	require.Equal(t, map[string]string{"Resources": "True", "Installation": "True"}, statuses())
	for _, c := range s.Conditions {
		require.Contains(t, []string{"ResourcesAvailable", "Ready"}, c.Reason)
	}
	setObserved(m, &s, Observed{State: shared.StateReady, Reason: "UnreachableTimeout", Message: "no answer"}, now)
	require.Equal(t, map[string]string{"Resources": "True", "Installation": "True"}, statuses(), "nobody looked")
	require.Equal(t, "no answer", s.LastOperation.Operation)
	require.Equal(t, v1beta2.ObjectCounts{Total: 2, Ready: 2}, *s.Counts)
	setObserved(m, &s, Observed{State: shared.StateDeleting, Reason: ReasonWaitingForResources, Message: "going"}, now)
	require.Equal(t, map[string]string{"Resources": "False", "Installation": "False"}, statuses())
}

func TestTheRemovalNamesTheFirstTenThatBlockIt(t *testing.T) {
	t.Parallel()
	sample := func(name string) foundCR {
		return foundCR{kind: schema.GroupKind{Group: "example.com", Kind: "Sample"}, meta: &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		}}
	}
	b := blockingCRs{module: "keda", mark: "kcp-system/kyma-keda"}
	require.Nil(t, b.waits())
	own := sample("default")
	b.own = &own
	require.Equal(t, &Observed{
		State: shared.StateDeleting, Reason: ReasonWaitingForModuleCR, Message: "waiting for module crs deletion",
		Hint: "the module's operator has to let go of Sample ns/default",
	}, b.waits())
	for range 12 {
		b.others = append(b.others, sample("x"))
	}
	o := b.waits()
	require.Equal(t, shared.StateDeleting, o.State)
	require.Equal(t, ReasonBlockedByModuleCRs, o.Reason)
	require.Equal(t, "waiting for module crs deletion", o.Message, "clients compare it word for word")
	require.Equal(t, "12 custom resources would be lost with the module: "+strings.Repeat("Sample ns/x, ", 9)+"Sample ns/x and 2 more. "+
		"Delete them, or allow their deletion by the annotation operator.kyma-project.io/delete-user-data: \"keda\" of the Kyma, "+
		"or operator.kyma-project.io/delete-user-data: \"true\" of Manifest kcp-system/kyma-keda", o.Hint)

	b.others = nil
	for range 12 {
		b.others = append(b.others, sample(strings.Repeat("x", 253)))
	}
	require.Less(t, len(b.waits().Hint), 1000, "an Event has room for 1024 bytes")
}
func TestAManifestWithTheLargestInventoryFitsIntoEtcd(t *testing.T) {
	t.Parallel()
	const etcd = 1_572_864
	var inventory []v1beta2.InventoryEntry
	for i := 0; inventoryBytes(inventory) <= maxInventoryBytes; i++ {
		inventory = append(inventory, v1beta2.InventoryEntry{ID: fmt.Sprintf("rbac.authorization.k8s.io_RoleBinding_namespace-of-objects_object-%06d", i), Version: "v1"})
	}
	inventory = inventory[1:]
	require.Greater(t, len(inventory), 5000)
	for i := range inventory {
		inventory[i].UID, inventory[i].Hash = "01234567-0123-0123-0123-0123456789ab", "0123456789abcdef"
	}
	require.LessOrEqual(t, inventoryBytes(inventory), maxInventoryBytes, "what is added by applying is counted before")
	m := &v1beta2.Manifest{}
	setInventory(&m.Status, inventory)
	encoded, err := json.Marshal(m)
	require.NoError(t, err)
	t.Logf("a Manifest of %d objects has %d bytes", len(inventory), len(encoded))
	require.Less(t, len(encoded), etcd-128<<10, "there is room for the rest")
	require.NotEmpty(t, m.Status.Synced)
	require.Len(t, m.Status.Inventory, len(inventory))
}
