package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// The Job of a hook completes, or its pod finds no node and the Job fails after a second.
const (
	completes = `template: {spec: {restartPolicy: Never, containers: [{name: run, image: "example.com/migrate:1"}]}}`
	fails     = `activeDeadlineSeconds: 1, template: {spec: {restartPolicy: Never, nodeSelector: {nowhere: "true"}, containers: [{name: run, image: "example.com/migrate:1"}]}}`
)

// migrated is a chart of one ConfigMap that says its version, with one Job before and one after it.
func migrated(version, prepares string) harness.MinimalModule {
	hook := func(name, when, spec string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + `, annotations: {helm.sh/hook: "` + when + `"}}` + "\n" +
			"spec: {backoffLimit: 0, " + spec + "}\n---\n"
	}
	return harness.MinimalModule{
		Name: "migrated", Version: version, Channels: "regular",
		Templates: hook("prepare", "pre-install,pre-upgrade", prepares) +
			hook("report", "post-install,post-upgrade", completes) +
			hook("farewell", "pre-delete", completes) +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {version: {{ .Chart.Version }}}\n",
	}
}

// The hooks of a chart are Jobs that run once for each version, before and after what they are for. One that fails
// leaves the version before unchanged, and the next version starts from there.
func TestTheHooksOfAChartRunOnceForEachVersion(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften() // drift is found by passes
	s.PushModule(migrated("1.0.0", completes))
	s.Instance.Start()
	s.Create(harness.NewKyma("hooked", "migrated"))
	s.ReadyAmongOthers("hooked", "migrated", "1.0.0")
	require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "migrated"))
	first := endedJobs(t, s)
	require.Len(t, first, 2)

	require.NoError(t, s.Remote.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "migrated", Namespace: harness.RemoteNamespace}}))
	s.Eventually("the ConfigMap comes back", 2*time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "migrated"))
	})
	s.BecomesIdle(s.Kyma("hooked"))
	require.Equal(t, first, endedJobs(t, s), "no hook runs again for the same version")

	s.PushModule(migrated("1.1.0", fails))
	s.Eventually("the failed hook is reported", 3*time.Minute, func(c *assert.CollectT) {
		found := s.Module("hooked", "migrated")
		assert.Equal(c, shared.StateError, found.State, found.Message)
		assert.Contains(c, found.Message, "hook Job kyma-system/prepare: it failed: DeadlineExceeded")
	})
	require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "migrated"), "what the old version has stays")

	s.PushModule(migrated("1.2.0", completes))
	s.ReadyAmongOthers("hooked", "migrated", "1.2.0")
	require.Equal(t, "1.2.0", s.MinimalVersion(harness.RemoteNamespace, "migrated"))
	last := endedJobs(t, s)
	require.Len(t, last, 2)
	for name, uid := range last {
		require.NotEqual(t, first[name], uid, "%s ran for the new version", name)
	}

	require.NoError(t, s.ControlPlane.Delete(t.Context(), s.Kyma("hooked")))
	s.Eventually("the Jobs go with the module", 2*time.Minute, func(c *assert.CollectT) {
		var jobs batchv1.JobList
		require.NoError(c, s.Remote.List(t.Context(), &jobs, client.InNamespace(harness.RemoteNamespace)))
		assert.Empty(c, jobs.Items)
	})
}

// endedJobs are the Jobs of the module, all of which are complete.
func endedJobs(t *testing.T, s *harness.Environment) map[string]types.UID {
	t.Helper()
	var jobs batchv1.JobList
	require.NoError(t, s.Remote.List(t.Context(), &jobs, client.InNamespace(harness.RemoteNamespace)))
	found := map[string]types.UID{}
	for _, job := range jobs.Items {
		require.EqualValues(t, 1, job.Status.Succeeded, job.Name)
		found[job.Name] = job.UID
	}
	return found
}
