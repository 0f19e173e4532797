package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
)

// commandLine runs the built program on a fleet of the test's own.
type commandLine struct {
	t        *testing.T
	program  string
	stateDir string
}

func newCommandLine(t *testing.T) commandLine {
	t.Helper()
	program := filepath.Join(t.TempDir(), "fleet")
	output, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(output))
	c := commandLine{t: t, program: program, stateDir: filepath.Join(t.TempDir(), "state")}
	t.Cleanup(func() {
		output, err := c.command("down").CombinedOutput()
		require.NoError(t, err, string(output))
	})
	return c
}

func (c commandLine) command(args ...string) *exec.Cmd {
	return exec.Command(c.program, append(args, "--state-dir", c.stateDir)...)
}

// run runs a command that must succeed and returns its standard output.
func (c commandLine) run(args ...string) string {
	c.t.Helper()
	return output(c.t, c.command(args...))
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s\n%s", cmd, &stderr)
	return stdout.String()
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	require.NoError(t, json.Unmarshal([]byte(text), &value), text)
	return value
}

// states returns the states of all components, and the processes behind them.
func (c commandLine) states() (map[string]string, []process.Identity) {
	c.t.Helper()
	var stdout bytes.Buffer
	cmd := c.command("status", "--output", "json")
	cmd.Stdout = &stdout
	// It fails when a component is not ready, and describes it all the same.
	_ = cmd.Run()
	states := map[string]string{}
	var identities []process.Identity
	for _, status := range decode[[]fleet.ComponentStatus](c.t, stdout.String()) {
		states[status.Component] = status.State
		if identity, err := process.Identify(status.PID); err == nil {
			identities = append(identities, identity)
		}
	}
	return states, identities
}

func requireGone(t *testing.T, identities []process.Identity) {
	t.Helper()
	require.NotEmpty(t, identities)
	for _, identity := range identities {
		require.False(t, identity.Alive(), "process %d", identity.PID)
	}
}

func TestAFleetFromUpToDown(t *testing.T) {
	if os.Getenv("LM_TEST_REQUIRE_FLEET") == "" {
		t.Skip("brings up real clusters: make test runs it")
	}
	c := newCommandLine(t)
	owner := exec.Command("/bin/sleep", "3600")
	require.NoError(t, owner.Start())
	t.Cleanup(func() { _ = owner.Process.Kill(); _ = owner.Wait() })
	ownerPID := strconv.Itoa(owner.Process.Pid)

	d := decode[fleet.Description](t, c.run("up", "--registry-auth", "--output", "json", "--owner-pid", ownerPID))
	states, identities := c.states()
	require.Len(t, states, 9, "three programs for each of two clusters, Temporal, the registry, the supervisor")
	for component, state := range states {
		require.Equal(t, fleet.StateReady, state, component)
	}
	remote := connect(t, d.Remotes[0].AccessKubeconfig)
	temporal := func(args ...string) *exec.Cmd {
		return exec.Command(d.Temporal.Binary, append(args, "--address", d.Temporal.Address)...)
	}

	becomes := func(t *testing.T, object client.Object, is func() bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			return remote.Get(t.Context(), client.ObjectKeyFromObject(object), object) == nil && is()
		}, time.Minute, 50*time.Millisecond)
	}
	labels := map[string]string{"app": "web"}
	template := func(policy corev1.RestartPolicy) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{{Name: "web", Image: "example.com/web"}}},
		}
	}
	web := &appsv1.Deployment{ObjectMeta: inDefault("web"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(corev1.RestartPolicyAlways),
	}}
	isAvailable := func() bool { return web.Status.AvailableReplicas == 2 }

	t.Run("a Deployment becomes Available and a Job completes in the remote cluster", func(t *testing.T) {
		require.NoError(t, remote.Create(t.Context(), web))
		once := &batchv1.Job{ObjectMeta: inDefault("once"), Spec: batchv1.JobSpec{Template: template(corev1.RestartPolicyNever)}}
		require.NoError(t, remote.Create(t.Context(), once))
		becomes(t, web, isAvailable)
		becomes(t, once, func() bool { return once.Status.Succeeded == 1 })
	})

	t.Run("a pod that no node can take is reported, and a deleted one goes", func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: inDefault("nowhere"), Spec: template(corev1.RestartPolicyAlways).Spec}
		pod.Spec.NodeSelector = map[string]string{"nowhere": "true"}
		require.NoError(t, remote.Create(t.Context(), pod))
		becomes(t, pod, func() bool {
			return len(pod.Status.Conditions) == 1 && pod.Status.Conditions[0].Reason == corev1.PodReasonUnschedulable
		})
		running := &corev1.PodList{}
		require.NoError(t, remote.List(t.Context(), running, client.MatchingLabels(labels)))
		require.NotEmpty(t, running.Items)
		require.NoError(t, remote.Delete(t.Context(), &running.Items[0]))
		require.Eventually(t, func() bool {
			return apierrors.IsNotFound(remote.Get(t.Context(), client.ObjectKeyFromObject(&running.Items[0]), &corev1.Pod{}))
		}, time.Minute, 50*time.Millisecond)
		becomes(t, web, isAvailable)
	})

	t.Run("the registry wants its password", func(t *testing.T) {
		status := func(password string) int {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.Registry.URL+"/v2/_catalog", http.NoBody)
			require.NoError(t, err)
			request.SetBasicAuth(d.Registry.Username, password)
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			return response.StatusCode
		}
		require.Equal(t, http.StatusUnauthorized, status("guessed"))
		require.Equal(t, http.StatusOK, status(d.Registry.Password))
	})

	t.Run("a workflow survives a crash of Temporal and not its reset", func(t *testing.T) {
		output(t, temporal("workflow", "start", "--type", "Sleeper", "--task-queue", "none", "--workflow-id", "sleeper"))
		c.run("stop", "temporal", "--kill")
		states, _ := c.states()
		require.Equal(t, fleet.StateStopped, states["temporal"])
		c.run("start", "temporal")
		require.Contains(t, output(t, temporal("workflow", "describe", "--workflow-id", "sleeper")), "Sleeper")
		c.run("reset", "temporal")
		require.Error(t, temporal("workflow", "describe", "--workflow-id", "sleeper").Run())
	})

	t.Run("a remote cluster comes and goes while the others stay", func(t *testing.T) {
		added := decode[[]fleet.ClusterInfo](t, c.run("add-remote", "fresh", "--output", "json"))
		require.Len(t, added, 1)
		require.NoError(t, connect(t, added[0].AccessKubeconfig).List(t.Context(), &corev1.NamespaceList{}))
		c.run("remove-remote", "fresh")
		require.NoFileExists(t, added[0].Kubeconfig)
		require.Error(t, exec.Command(c.program, "kubeconfig", "fresh", "--state-dir", c.stateDir).Run())
	})

	t.Run("an API server comes back where it was", func(t *testing.T) {
		c.run("stop", "remote-1/kube-apiserver")
		require.Error(t, remote.List(t.Context(), &corev1.NamespaceList{}))
		c.run("start", "remote-1/kube-apiserver")
		require.NoError(t, remote.Get(t.Context(), client.ObjectKeyFromObject(web), web))
	})

	t.Run("a program that ends by itself starts again", func(t *testing.T) {
		const component = "remote-1/kube-controller-manager"
		records := process.Records{Dir: filepath.Join(c.stateDir, "processes")}
		before, err := records.Running(component)
		require.NoError(t, err)
		require.NoError(t, before.Signal(syscall.SIGKILL))
		require.Eventually(t, func() bool {
			now, err := records.Running(component)
			return err == nil && now.Identity != before.Identity
		}, time.Minute, 50*time.Millisecond)
	})

	t.Run("a cluster goes back to its snapshot, and its revisions go on", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "snapshot.db")
		create := func(name string) int64 {
			made := &corev1.ConfigMap{ObjectMeta: inDefault(name)}
			require.NoError(t, remote.Create(t.Context(), made))
			revision, err := strconv.ParseInt(made.ResourceVersion, 10, 64)
			require.NoError(t, err)
			return revision
		}
		create("before")
		c.run("snapshot", "remote-1", file)
		after := create("after")
		c.run("restore", "remote-1", file)
		require.NoError(t, remote.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "before"}, &corev1.ConfigMap{}))
		require.True(t, apierrors.IsNotFound(remote.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "after"}, &corev1.ConfigMap{})))
		require.Greater(t, create("later"), after+revisionBump/2)
		becomes(t, web, isAvailable)
		c.run("restore", "remote-1", file, "--bump-revision", "0")
		require.Less(t, create("again"), after+revisionBump/2)
	})

	t.Run("a fleet that was stopped goes on with its data", func(t *testing.T) {
		_, running := c.states()
		c.run("down", "--keep-data")
		requireGone(t, append(running, identities...))
		again := decode[fleet.Description](t, c.run("up", "--output", "json", "--owner-pid", ownerPID))
		require.Equal(t, d, again)
		require.NoError(t, remote.Get(t.Context(), client.ObjectKeyFromObject(web), web))
	})

	t.Run("the end of its owner ends the fleet", func(t *testing.T) {
		_, running := c.states()
		require.NoError(t, owner.Process.Kill())
		_ = owner.Wait()
		require.Eventually(t, func() bool { _, err := os.Stat(c.stateDir); return os.IsNotExist(err) }, time.Minute, 50*time.Millisecond)
		supervised := func(identity process.Identity) bool { return identity.Alive() }
		require.Eventually(t, func() bool { return !anyOf(running, supervised) }, time.Minute, 50*time.Millisecond)
	})
}

func inDefault(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

func connect(t *testing.T, kubeconfig string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	connected, err := client.New(config, client.Options{})
	require.NoError(t, err)
	return connected
}

func anyOf(identities []process.Identity, test func(process.Identity) bool) bool {
	for _, identity := range identities {
		if test(identity) {
			return true
		}
	}
	return false
}
