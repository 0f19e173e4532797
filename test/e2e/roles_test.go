package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Watchers and workers run in processes of their own. Neither gets far alone, another worker takes the place of one that is gone,
// and the sweep finds what happened while no watcher ran.
func TestWatchersAndWorkersCanBeProcessesOfTheirOwn(t *testing.T) {
	s := harness.NewEnvironment(t, "--role", "watchers")
	t.Run("neither gets far alone, and another worker takes the place of one that is gone", func(t *testing.T) { assertRolesNeedEachOther(t, s) })
	t.Run("a removal that nobody watches comes to its end", func(t *testing.T) {
		s.SweepOften() // only passes find what nobody watches
		assertRemovalEndsUnwatched(t, s)
	})
}

// assertRolesNeedEachOther starts processes of both roles one by one, kills them in turn, and ends without any.
func assertRolesNeedEachOther(t *testing.T, s *harness.Environment) {
	t.Helper()
	const nobody = "no process of Lifecycle Manager leads in this control plane"
	statusSays(s, 1, `"instance":"lifecycle-manager","message":"`+nobody+`"`)
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Launch()
	s.Create(harness.NewKyma("split", "sample"))
	s.Instance.Says("no worker", time.Minute)
	require.False(t, process.IsReady(s.Instance.Probe))
	kyma := s.Kyma("split")
	s.Eventually("the watcher has sent a kick for the Kyma", 2*time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "Running", s.WorkflowOf(kyma))
	})
	statusSays(s, 1, "no worker")
	begun := harness.Pending(s.History(kick.KymaWorkflowID(kick.RefOf(kyma))))
	require.Equal(t, []string{"WorkflowTaskScheduled"}, begun, "who only watches takes no task")
	require.Empty(t, s.Kyma("split").Status.State, "nor changes anything")

	s.Instance.Kill()
	forgetRecord(s)
	statusSays(s, 1, nobody+", and no worker polls the task queue")
	s.Instance.Launch()

	first := s.NewInstance("--role", "workers")
	t.Cleanup(first.Stop)
	first.Start()
	s.BecomesReady("split", "sample@1.0.0")
	require.Eventually(t, func() bool { return process.IsReady(s.Instance.Probe) }, time.Minute, 100*time.Millisecond)
	statusSays(s, 0, `{"kymas":[`)

	second := s.NewInstance("--role", "workers")
	t.Cleanup(second.Stop)
	second.Start()
	first.Kill()
	s.RemoveKyma("split")
	require.Empty(t, s.OfModule(t, s.Remote))

	s.Instance.Kill()
	statusSays(s, 1, nobody+`"`) // the second worker polls
	second.Stop()
}

// assertRemovalEndsUnwatched removes a module while no process leads. Nobody sees then that a Manifest has gone, and the next
// leader lists only what there is. The sweep notices it, so that the module does not stay Deleting, and can be installed again.
func assertRemovalEndsUnwatched(t *testing.T, s *harness.Environment) {
	t.Helper()
	s.PushMinimal("left")
	s.Instance.Launch()
	workers := s.NewInstance("--role", "workers")
	t.Cleanup(workers.Stop)
	workers.Start()
	s.Create(harness.NewKyma("unwatched", "left"))
	s.BecomesReady("unwatched", "left@1.0.0")
	s.BecomesIdle(s.Kyma("unwatched"))

	s.Instance.Kill()
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
	s.BecomesReady("unwatched")
	require.Empty(t, s.MinimalVersion(harness.RemoteNamespace, "left"))
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "left"}} })
	s.BecomesReady("unwatched", "left@1.0.0")
	s.RemoveKyma("unwatched")
}

// forgetRecord makes the control plane one that nobody has led yet.
func forgetRecord(s *harness.Environment) {
	s.T.Helper()
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: harness.ControlPlaneNamespace, Name: "lifecycle-manager-settings"}}
	require.NoError(s.T, client.IgnoreNotFound(s.ControlPlane.Delete(s.T.Context(), record)))
}

// statusSays waits until `lifecycle-manager status` ends with a code and its output has a text.
func statusSays(s *harness.Environment, code int, text string) {
	s.T.Helper()
	s.Eventually("the status says "+text, 40*time.Second, func(c *assert.CollectT) {
		cmd := exec.CommandContext(s.T.Context(), testfleet.Binary(s.T, "lifecycle-manager"), "status", "-o", "json", "--kubeconfig", s.ControlPlane.Kubeconfig)
		cmd.Env = s.Variables()
		said, _ := cmd.Output()
		var compact bytes.Buffer
		require.NoError(c, json.Compact(&compact, said))
		assert.Contains(c, compact.String(), text)
		assert.Equal(c, code, cmd.ProcessState.ExitCode())
	})
}
