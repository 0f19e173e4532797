package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	if testing.Short() {
		t.Skip("brings up real clusters")
	}
	c := newCommandLine(t)
	owner := exec.Command("/bin/sleep", "3600")
	require.NoError(t, owner.Start())
	t.Cleanup(func() { _ = owner.Process.Kill(); _ = owner.Wait() })
	ownerPID := strconv.Itoa(owner.Process.Pid)

	d := decode[fleet.Description](t, c.run("up", "--registry-auth", "--output", "json", "--owner-pid", ownerPID))
	states, identities := c.states()
	require.Len(t, states, 13, "five programs for each of two clusters, Temporal, the registry, the supervisor")
	for component, state := range states {
		require.Equal(t, fleet.StateReady, state, component)
	}
	remote := func(args ...string) string {
		return output(t, exec.Command(d.Kubectl, append(args, "--kubeconfig", d.Remotes[0].AccessKubeconfig)...))
	}
	temporal := func(args ...string) *exec.Cmd {
		return exec.Command(d.Temporal.Binary, append(args, "--address", d.Temporal.Address)...)
	}

	beat := func() string {
		return remote("get", "node", "node-1", `--output=jsonpath={.status.conditions[?(@.type=="Ready")].lastHeartbeatTime}`)
	}
	firstBeat := beat()

	t.Run("a Deployment becomes Available and a Job completes in the remote cluster", func(*testing.T) {
		remote("create", "deployment", "web", "--image=example.com/web", "--replicas=2")
		remote("create", "job", "once", "--image=example.com/once")
		remote("wait", "deployment/web", "--for=condition=Available", "--timeout=60s")
		remote("wait", "job/once", "--for=condition=Complete", "--timeout=60s")
	})

	t.Run("a pod that was marked as not ready becomes ready again", func(t *testing.T) {
		pod := strings.TrimSpace(remote("get", "pods", "--selector=app=web", "--output=jsonpath={.items[0].metadata.name}"))
		// As the node lifecycle controller marks the pods of a node that is silent.
		require.Equal(t, "False", remote("patch", "pod", pod, "--subresource=status",
			`--patch={"status":{"conditions":[{"type":"Ready","status":"False"}]}}`,
			`--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}`))
		remote("wait", "pod/"+pod, "--for=condition=Ready", "--timeout=60s")
		remote("wait", "deployment/web", "--for=jsonpath={.status.availableReplicas}=2", "--timeout=60s")
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
		output(t, exec.Command(d.Kubectl, "get", "namespaces", "--kubeconfig", added[0].AccessKubeconfig))
		c.run("remove-remote", "fresh")
		require.NoFileExists(t, added[0].Kubeconfig)
		require.Error(t, exec.Command(c.program, "kubeconfig", "fresh", "--state-dir", c.stateDir).Run())
	})

	t.Run("an API server comes back where it was", func(t *testing.T) {
		c.run("stop", "remote-1/kube-apiserver")
		require.Error(t, exec.Command(d.Kubectl, "get", "namespaces", "--kubeconfig", d.Remotes[0].AccessKubeconfig).Run())
		c.run("start", "remote-1/kube-apiserver")
		remote("get", "deployment", "web")
	})

	t.Run("a cluster goes back to its snapshot, and its revisions go on", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "snapshot.db")
		remote("create", "configmap", "before")
		c.run("snapshot", "remote-1", file)
		revision := func(name string) int64 {
			found, err := strconv.ParseInt(remote("create", "configmap", name, "--output=jsonpath={.metadata.resourceVersion}"), 10, 64)
			require.NoError(t, err)
			return found
		}
		after := revision("after")
		c.run("restore", "remote-1", file)
		remote("get", "configmap", "before")
		require.Error(t, exec.Command(d.Kubectl, "get", "configmap", "after", "--kubeconfig", d.Remotes[0].AccessKubeconfig).Run())
		require.Greater(t, revision("later"), after+revisionBump/2)
		remote("wait", "deployment/web", "--for=condition=Available", "--timeout=60s")
		c.run("restore", "remote-1", file, "--bump-revision", "0")
		require.Less(t, revision("again"), after+revisionBump/2)
	})

	t.Run("the node gives signs of life before it is taken for lost", func(t *testing.T) {
		require.Eventually(t, func() bool { return beat() != firstBeat }, 2*time.Minute, 500*time.Millisecond)
		// A node that was lost comes back by a sign of life, too.
		require.Empty(t, remote("get", "events", "--field-selector=reason=NodeNotReady", "--output=name"))
	})

	t.Run("a fleet that was stopped goes on with its data", func(t *testing.T) {
		_, running := c.states()
		c.run("down", "--keep-data")
		requireGone(t, append(running, identities...))
		again := decode[fleet.Description](t, c.run("up", "--output", "json", "--owner-pid", ownerPID))
		require.Equal(t, d, again)
		remote("get", "deployment", "web")
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

func anyOf(identities []process.Identity, test func(process.Identity) bool) bool {
	for _, identity := range identities {
		if test(identity) {
			return true
		}
	}
	return false
}
