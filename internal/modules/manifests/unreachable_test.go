package manifests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func TestAnUnreachableClusterKeepsTheLastKnownState(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "m", UID: "uid"}}
	m.Status = v1beta2.ManifestStatus{State: shared.StateReady, Settled: true, Inventory: []v1beta2.InventoryEntry{{ID: "v1/ConfigMap/a/b"}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(m).WithStatusSubresource(m).Build()
	now := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	steps := &Steps{Options: Options{ControlPlane: c, Clock: func() time.Time { return now }}}
	ref := kick.RefOf(m)
	status := func() v1beta2.ManifestStatus {
		found := &v1beta2.Manifest{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(m), found))
		return found.Status
	}

	for range 2 { // the second call changes nothing
		require.NoError(t, steps.MarkUnreachable(t.Context(), ref, now))
		require.Equal(t, shared.StateError, status().State)
		require.Equal(t, shared.StateReady, status().LastKnownState)
		require.Equal(t, "last known state Ready: the cluster cannot be reached since 2026-05-01T12:00:00Z", status().LastOperation.Operation)
		require.Len(t, status().Inventory, 1)
	}

	unreachable := status()
	SetObserved(m, &unreachable, readiness.Observed{State: shared.StateReady, Unreachable: true, Message: "no route"}, metav1.NewTime(now))
	require.Equal(t, status(), unreachable, "another step that cannot reach the cluster makes no news")
	seen := status()
	SetObserved(m, &seen, readiness.Observed{State: shared.StateWarning, Reason: readiness.ReasonModuleCRWarning, Message: "it warns"}, metav1.NewTime(now))
	require.Equal(t, shared.StateWarning, seen.State)
	require.Empty(t, seen.LastKnownState)

	require.NoError(t, steps.MarkReachable(t.Context(), ref))
	require.Equal(t, shared.StateReady, status().State)
	require.Empty(t, status().LastKnownState)
	require.Equal(t, readiness.MessageReady, status().LastOperation.Operation)
	require.Len(t, status().Inventory, 1)

	gone := ref
	gone.UID = "another"
	require.NoError(t, steps.MarkUnreachable(t.Context(), gone, now))
	require.Equal(t, shared.StateReady, status().State)
}
