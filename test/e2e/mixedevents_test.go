package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/tasks"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// The previous release takes events, with an agent that it brought to the cluster. Watchers and workers are replaced by those
// of this release and back, one after the other: with each combination, events of the same agent are acted on, and the
// workflows of Watchers and certificates go on.
func TestThePreviousReleaseAndThisOneTakeEvents(t *testing.T) {
	program := map[bool]string{previousBuild: filepath.Join(testfleet.Previous(t), release), thisBuild: ""}
	w := newWatchedAfter(t, func(w *watched) {
		w.Instance.Program, w.workers.Program = program[previousBuild], program[previousBuild]
		w.Instance.AllNamespaces, w.workers.AllNamespaces = true, true // as in the other mixed run
		w.Instance.WithoutRemovalBudget, w.workers.WithoutRemovalBudget = true, true
	})
	w.becomesActedOn("sample")
	watcher := &v1beta2.Watcher{}
	require.NoError(t, w.ControlPlane.Get(t.Context(), client.ObjectKey{Namespace: harness.ControlPlaneNamespace, Name: "samples"}, watcher))
	replace := func(what *harness.Instance, previous bool) {
		what.Kill()
		what.Program = program[previous]
		what.Start()
	}
	for _, phase := range []struct {
		name     string
		instance *harness.Instance
		previous bool
		modules  []string
	}{
		{"this release works, the previous one watches", w.workers, thisBuild, nil},
		{"this release works and watches", w.Instance, thisBuild, []string{"sample"}},
		{"the previous release works, this one watches", w.workers, previousBuild, nil},
		{"the previous release works and watches again", w.Instance, previousBuild, []string{"sample"}},
		{"this release works again", w.workers, thisBuild, nil},
	} {
		t.Run(phase.name, func(t *testing.T) {
			replace(phase.instance, phase.previous)
			require.NoError(t, w.Temporal.SignalWorkflow(t.Context(), kick.CertificatesWorkflowID, "", kick.Signal, kick.Kick{Reason: "a test"}))
			edited := watcher.DeepCopy()
			edited.Spec.ServiceInfo.Port++
			require.NoError(t, w.ControlPlane.Patch(t.Context(), edited, client.MergeFrom(watcher)))
			w.becomesActedOn(phase.modules...)
			w.Eventually("the Watcher is Ready", soon, func(c *assert.CollectT) {
				require.NoError(c, w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(watcher), watcher))
				assert.Equal(c, shared.StateReady, watcher.Status.State)
			})
			if phase.instance != w.workers {
				return
			}
			// Its first task waits for the process that was killed, since that has the workflow in memory.
			version := map[bool]string{previousBuild: previousVersion, thisBuild: thisVersion}[phase.previous]
			w.Eventually("the workflow of certificates is continued by "+version, time.Minute, func(c *assert.CollectT) {
				newest := w.Runs(`WorkflowType="` + kick.CertificatesWorkflow + `"`)[0]
				builds := tasks.Of(w.HistoryOf(newest)).Builds
				assert.Equal(c, []string{version}, builds[max(0, len(builds)-1):])
			})
		})
	}
	watchersBy := map[string]bool{}
	mixed := bothWorked(w.Environment, func(run harness.Run, record tasks.Record, _ *historypb.History) {
		for _, build := range record.Builds {
			watchersBy[build] = watchersBy[build] || run.Type == kick.WatcherWorkflow
		}
	})
	require.Equal(t, map[string]bool{previousVersion: true, thisVersion: true}, watchersBy, "both have worked for Watchers, whose runs end as soon as they settle")
	for _, workflow := range []string{kick.KymaWorkflow, kick.CertificatesWorkflow} {
		require.Positive(t, mixed[workflow], "both have worked on the same run of %s", workflow)
	}
}
