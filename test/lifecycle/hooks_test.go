package lifecycle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// chart pushes the layer of a Helm chart with one template, in which ID is replaced by a name that is unique to the
// environment.
func (s *environment) chart(version, template string) v1beta2.ImageSpec {
	s.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for name, content := range map[string]string{
		"chart/Chart.yaml":         "apiVersion: v2\nname: sample\nversion: " + version + "\n",
		"chart/templates/all.yaml": strings.ReplaceAll(template, "ID", s.id),
	} {
		require.NoError(s, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}))
		_, err := archive.Write([]byte(content))
		require.NoError(s, err)
	}
	require.NoError(s, archive.Close())
	require.NoError(s, zip.Close())
	layer := s.blob(packed.Bytes())
	layer.Type = v1beta2.ImageSourceHelmChart
	return layer
}

// held keeps pods off all nodes, so that a Job ends only when a test says so.
const held = `{nodeSelector: {nowhere: "true"}, restartPolicy: Never, containers: [{name: run, image: "example.com/run:1"}]}`

func hookJob(name, hook string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", annotations: {" + hook + "}}\n" +
		"spec: {backoffLimit: 0, template: {spec: " + held + "}}\n---\n"
}

// end completes a Job, or makes it fail.
func (s *environment) end(name, condition string) {
	s.Helper()
	require.Eventually(s, func() bool { return s.tryEnd(name, condition) == nil }, time.Minute, 20*time.Millisecond, "%s: %s", name, condition)
}

func (s *environment) tryEnd(name, condition string) error {
	job := s.get("batch/v1", "Job", "ID-remote", name)
	if job == nil {
		return errors.New("it is not there")
	}
	if conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions"); len(conditions) > 0 {
		return nil
	}
	now := time.Now().UTC().Format(time.RFC3339)
	before := map[string]string{"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[condition]
	started, _, _ := unstructured.NestedString(job.Object, "status", "startTime")
	if started == "" {
		started = now
	}
	status := map[string]any{"startTime": started, "conditions": []any{
		map[string]any{"type": before, "status": "True", "reason": "Tested", "message": "said by a test", "lastTransitionTime": now},
		map[string]any{"type": condition, "status": "True", "reason": "Tested", "message": "said by a test", "lastTransitionTime": now},
	}}
	if condition == "Complete" {
		status["completionTime"], status["succeeded"] = now, int64(1)
	}
	patch := client.MergeFrom(job.DeepCopy())
	job.Object["status"] = status
	return s.remote.Status().Patch(context.Background(), job, patch)
}

func (s *environment) runOf(name string) string {
	s.Helper()
	job := s.get("batch/v1", "Job", "ID-remote", name)
	require.NotNil(s, job, name)
	return string(job.GetUID())
}

func TestHooksRunOnceForAVersionAndInTheirOrder(t *testing.T) {
	template := func(extra string) string {
		return hookJob("first", `helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "-1"`) +
			hookJob("second", `helm.sh/hook: "pre-install"`) +
			hookJob("last", `helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-delete-policy: "hook-succeeded"`) +
			hookJob("never", `helm.sh/hook: "pre-delete"`) + configMap("settings"+extra)
	}
	s := newEnvironment(t, "", nil)
	s.activities.Applier.Options.HookPatience = time.Millisecond
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.chart("1.0.0", template("")) })

	waits := func(reason, message string) {
		t.Helper()
		result := s.apply()
		require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
		require.Equal(t, reason, result.Observed.Reason, result.Observed.Message)
		require.Equal(t, message, result.Observed.Message)
	}
	waits(readiness.ReasonHookPending, "waiting for hook Job "+s.id+"-remote/first")
	first := s.runOf("first")
	require.Nil(t, s.get("batch/v1", "Job", "ID-remote", "second"), "one after the other")
	waits(readiness.ReasonHookPending, "waiting for hook Job "+s.id+"-remote/first")
	require.Equal(t, first, s.runOf("first"), "it is not run twice")
	s.end("first", "Complete")
	waits(readiness.ReasonHookPending, "waiting for hook Job "+s.id+"-remote/second")
	require.NoError(t, s.remote.Delete(context.Background(), s.get("batch/v1", "Job", "ID-remote", "first"), client.PropagationPolicy("Background")))
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"), "the module's objects come after the hooks before them")
	s.end("second", "Complete")
	waits(readiness.ReasonHookPending, "waiting for hook Job "+s.id+"-remote/last")
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"))
	s.end("last", "Complete")
	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	s.eventuallyGone("last")
	require.Nil(t, s.get("batch/v1", "Job", "ID-remote", "first"), "it ran, and was cleaned up since")
	require.Nil(t, s.get("batch/v1", "Job", "ID-remote", "never"))
	require.Equal(t, shared.StateReady, s.ready(s.wait(result.Observed)).State)
	require.Contains(t, result.Observed.Message, "without the chart's hooks that never run: Job never")
	s.requests.take()
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Empty(t, writes(s.requests.take()), "another pass runs no hook")
	require.NoError(t, s.remote.Delete(context.Background(), s.get("v1", "ConfigMap", "ID-remote", "settings")))
	s.requests.take()
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"))
	for _, write := range writes(s.requests.take()) {
		require.NotContains(t, write, "/jobs", "nor does the repair of an object")
	}

	second := s.runOf("second")
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version, m.Spec.Install.Source = "1.1.0", s.chart("1.1.0", template("-new"))
	})
	waits(readiness.ReasonHookPending, "waiting for hook Job "+s.id+"-remote/first")
	require.Equal(t, second, s.runOf("second"), "a hook of the installation only")
	s.end("first", "Failed")
	waits(readiness.ReasonHookFailed, "hook Job "+s.id+"-remote/first: it failed: Tested: said by a test")
	failed := s.runOf("first")
	waits(readiness.ReasonHookFailed, "hook Job "+s.id+"-remote/first: it failed: Tested: said by a test")
	require.Equal(t, failed, s.runOf("first"), "what failed is not run again for the same version")
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"), "what the old version needs stays")
	require.Equal(t, "1.0.0", s.read().Status.InstalledVersion)

	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version, m.Spec.Install.Source = "1.2.0", s.chart("1.2.0", template("-new"))
	})
	require.Eventually(t, func() bool {
		waits(readiness.ReasonHookPending, "waiting for hook Job "+s.id+"-remote/first")
		now := s.get("batch/v1", "Job", "ID-remote", "first")
		return now != nil && string(now.GetUID()) != failed
	}, time.Minute, 20*time.Millisecond, "a new version is a new run")
	s.end("first", "Complete")
	waits(readiness.ReasonHookPending, "waiting for hook Job "+s.id+"-remote/last")
	s.end("last", "Complete")
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"))

	s.delete()
	require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, time.Minute, 50*time.Millisecond)
	for _, name := range []string{"first", "second", "last"} {
		s.eventuallyGone(name)
	}
}

func (s *environment) eventuallyGone(job string) {
	s.Helper()
	require.Eventually(s, func() bool { return s.get("batch/v1", "Job", "ID-remote", job) == nil }, time.Minute, 50*time.Millisecond, job)
}

func TestAReconcileWaitsForAHook(t *testing.T) {
	s := newEnvironment(t, "", nil)
	s.activities.Applier.Options.HookPatience = 2 * time.Minute
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Install.Source = s.chart("1.0.0", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: rights, annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: \"-5\"}}\n---\n"+
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: once, annotations: {helm.sh/hook: pre-install}}\n"+
			"spec: {template: {spec: {restartPolicy: Never, containers: [{name: once, image: \"example.com/once:1\"}]}}}\n---\n"+configMap("settings"))
	})
	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	require.NotNil(t, s.get("v1", "ServiceAccount", "ID-remote", "rights"))
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"))
}

func TestAJobOfAnIncompleteReconcileDoesNotRunTwice(t *testing.T) {
	s := newEnvironment(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {template: {spec: "+held+"}}\n---\n"+
		"apiVersion: unknown.example.com/v1\nkind: Unknown\nmetadata: {name: unknown}\n", nil)
	require.Equal(t, manifests.OutcomeIncomplete, s.apply().Outcome)
	require.NoError(t, s.remote.Delete(context.Background(), s.get("batch/v1", "Job", "ID-remote", "once"), client.PropagationPolicy("Background")))
	s.eventuallyGone("once")
	require.Equal(t, manifests.OutcomeIncomplete, s.apply().Outcome)
	require.Nil(t, s.get("batch/v1", "Job", "ID-remote", "once"), "it ran for these layers")
}
