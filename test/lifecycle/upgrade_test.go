package lifecycle

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const heldYAML = `
apiVersion: ID.example.com/v1
kind: Sample
metadata: {name: held}
---
`

func TestARemovedInventoryEntryDoesNotBlockReadiness(t *testing.T) {
	s := newEnvironment(t, moduleYAML+heldYAML, nil)
	s.installReady()
	held := s.get("ID.example.com/v1", "Sample", "ID-remote", "held")
	held.SetFinalizers([]string{"example.com/somebody"})
	require.NoError(t, s.remote.Update(context.Background(), held))

	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version = "1.1.0"
		m.Spec.Install.Source = s.layer(moduleYAML)
	})
	upgraded := s.apply()
	require.Equal(t, manifests.OutcomeApplied, upgraded.Outcome, upgraded.Observed.Message)
	held = s.get("ID.example.com/v1", "Sample", "ID-remote", "held")
	require.NotNil(t, held.GetDeletionTimestamp(), "it is pruned, and somebody holds it")
	seen := s.ready(s.wait(upgraded.Observed))
	require.Equal(t, int32(6), seen.Total)
	s.report(seen, true)

	held.SetFinalizers(nil)
	require.NoError(t, s.remote.Update(context.Background(), held))
	require.Eventually(t, func() bool { return s.get("ID.example.com/v1", "Sample", "ID-remote", "held") == nil }, time.Minute, 50*time.Millisecond)
	require.Len(t, s.read().Status.Inventory, 7, "nobody has seen yet that it is gone")
	again := s.apply()
	require.Len(t, s.read().Status.Inventory, 6)
	require.Equal(t, shared.StateReady, s.ready(s.settle(again)).State)

	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.layer(moduleYAML + heldYAML) })
	back := s.apply()
	require.Equal(t, int32(7), s.ready(s.wait(back.Observed)).Total, "what it has again counts again")
}

func TestAJobThatRanAndWasCleanedUpIsNotMissing(t *testing.T) {
	s := newEnvironment(t, operatorYAML+`
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: once, image: "example.com/once:1"}]}}}
`, nil)
	s.installReady()
	job := s.get("batch/v1", "Job", "ID-remote", "once")
	require.NoError(t, s.remote.Delete(context.Background(), job))
	require.Eventually(t, func() bool {
		left := s.get("batch/v1", "Job", "ID-remote", "once")
		if left != nil && len(left.GetFinalizers()) > 0 {
			left.SetFinalizers(nil)
			_ = s.remote.Update(context.Background(), left)
		}
		return left == nil
	}, time.Minute, 50*time.Millisecond)
	again := s.apply()
	require.Equal(t, shared.StateReady, s.ready(s.settle(again)).State)
	require.Nil(t, s.get("batch/v1", "Job", "ID-remote", "once"), "it runs once for a version")
}
