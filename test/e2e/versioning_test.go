package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const (
	presentBuild = "0.0.0-dev"
	nextBuild    = "0.0.0-next"
)

// Workers of two builds, as versions of a worker deployment: the leader gives the next one a share of the work and then
// all of it, a command takes it back, and workers that are gone are replaced.
func TestAVersionOfTheWorkersGetsTheWorkAndIsTakenBack(t *testing.T) {
	fleets.Idles(t)
	s := harness.NewEnvironment(t, "--role", "watchers", "--leader-elect", "--leader-election-namespace", harness.ControlPlaneNamespace, "--worker-versioning")
	s.PushMinimal("one")
	s.PushMinimal("two")
	workers := s.NewInstance("--role", "workers", "--leader-election-namespace", harness.ControlPlaneNamespace, "--worker-versioning")
	t.Cleanup(workers.Stop)
	next := s.NewInstance("--leader-elect", "--leader-election-namespace", harness.ControlPlaneNamespace,
		"--worker-versioning", "--worker-ramp-percent", "50", "--worker-ramp-duration", "3s")
	next.Program = buildAs(t, nextBuild)
	t.Cleanup(next.Stop)

	s.Instance.Launch()
	workers.Launch()
	s.Create(harness.NewSynced("versioned", "one"))
	s.BecomesReady("versioned", "one@1.0.0")
	gets(s, presentBuild, "all work")
	workedOnBy(s, "versioned", presentBuild)

	t.Run("the leader of the former build leaves the work with it", func(t *testing.T) {
		next.Start()
		gets(s, nextBuild, "nothing")
		gets(s, presentBuild, "all work")
	})
	t.Run("the leader of the next build gives it a share first, and then all", func(t *testing.T) {
		s.Instance.Stop()
		next.Says("a version ramps", time.Minute)
		next.Says("its ramp is over", time.Minute)
		gets(s, nextBuild, "all work")
		gets(s, presentBuild, "nothing")
		modulesBecome(s, "versioned", "one", "two")
		workedOnBy(s, "versioned", nextBuild)
	})
	t.Run("one command takes it back, and the leader leaves it there", func(t *testing.T) {
		workerVersion(s, "rollback")
		next.Says("was taken back", time.Minute)
		gets(s, presentBuild, "all work")
		modulesBecome(s, "versioned", "two")
		workedOnBy(s, "versioned", presentBuild)
	})
	t.Run("where its workers are gone, those that are there get the work", func(t *testing.T) {
		workers.Stop()
		next.Says("no worker of the current version polls", 6*time.Minute)
		modulesBecome(s, "versioned", "one")
		workedOnBy(s, "versioned", nextBuild)
	})
	t.Run("workers that are not versioned get it by a command, as they do before an earlier release is installed", func(t *testing.T) {
		refused := workerVersionCommand(s, "set-current")
		out, err := refused.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "do not poll every task queue")
		workerVersion(s, "set-current", "--force") // the leader takes it back some seconds later, as nobody is there to work
		unversioned := s.NewInstance("--role", "workers", "--leader-election-namespace", harness.ControlPlaneNamespace)
		s.T.Cleanup(unversioned.Stop)
		unversioned.Start()
		s.Eventually("unversioned workers are given the work", time.Minute, func(c *assert.CollectT) {
			out, err := workerVersionCommand(s, "set-current").CombinedOutput()
			assert.NoError(c, err, "%s", out)
		})
		gets(s, "unversioned workers", "all work")
		s.Instance.Launch() // it only watches, and leads
		next.Stop()
		modulesBecome(s, "versioned", "one", "two")
	})
	s.RemoveKyma("versioned")
}

// buildAs builds this program with a version, and returns its path.
func buildAs(t *testing.T, version string) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "run", "./test/build", "-o", folder, "-version", version, "lifecycle-manager")
	build.Dir = testfleet.Root(t)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(folder, "lifecycle-manager")
}

// modulesBecome makes a Kyma have just these modules, and waits until it has.
func modulesBecome(s *harness.Environment, name string, modules ...string) {
	s.T.Helper()
	harness.Edit(s.T, s.ControlPlane, s.Kyma(name), func(k *v1beta2.Kyma) { k.Spec.Modules = harness.NewKyma(name, modules...).Spec.Modules })
	var versions []string
	for _, module := range modules {
		versions = append(versions, module+"@1.0.0")
	}
	s.BecomesReady(name, versions...)
}

// workedOnBy waits until a build has done the last workflow task of a Kyma's workflow: a run that has just continued as new
// has none yet.
func workedOnBy(s *harness.Environment, name, build string) {
	s.T.Helper()
	s.Eventually(build+" works on Kyma "+name, time.Minute, func(c *assert.CollectT) {
		last := ""
		for _, event := range s.History(kick.KymaWorkflowID(kick.RefOf(s.Kyma(name)))).GetEvents() {
			if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				last = event.GetWorkflowTaskCompletedEventAttributes().GetDeploymentVersion().GetBuildId()
			}
		}
		assert.Equal(c, build, last)
	})
}

// gets waits until `lifecycle-manager worker-version` says that a build gets something.
func gets(s *harness.Environment, build, what string) {
	s.T.Helper()
	row := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(build) + ` +` + regexp.QuoteMeta(what) + ` `)
	s.Eventually(build+" gets "+what, time.Minute, func(c *assert.CollectT) {
		assert.Regexp(c, row, string(workerVersion(s)))
	})
}

func workerVersion(s *harness.Environment, args ...string) []byte {
	s.T.Helper()
	out, err := workerVersionCommand(s, args...).CombinedOutput()
	require.NoError(s.T, err, "%s", out)
	return out
}

func workerVersionCommand(s *harness.Environment, args ...string) *exec.Cmd {
	s.T.Helper()
	command := exec.CommandContext(s.T.Context(), testfleet.Binary(s.T, "lifecycle-manager"), append([]string{"worker-version"}, args...)...)
	command.Env = append(os.Environ(), s.Variables()...)
	return command
}
