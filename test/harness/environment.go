package harness

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	temporal "go.temporal.io/sdk/client"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const (
	// ControlPlaneNamespace is where Kymas, their access Secrets and the catalog of modules are.
	ControlPlaneNamespace = "kcp-system"
	// RemoteNamespace is where the remote Kyma is, and what modules bring without a namespace.
	RemoteNamespace = "kyma-system"
)

// Environment is a fleet that is used by one test alone, with an instance of Lifecycle Manager as a process in a Temporal
// namespace of its own. The test sees it from outside, as users do.
type Environment struct {
	T            testing.TB
	Fleet        fleets.Fleet
	ControlPlane cluster.Cluster
	// Remotes are all remote clusters of the environment, and Remote is the first of them, which is all that most tests need.
	Remotes []cluster.Cluster
	Remote  cluster.Cluster
	// Registry is the host of the fleet's registry, which speaks plain HTTP.
	Registry string
	// Namespace is the instance's Temporal namespace, and Temporal a client for it.
	Namespace string
	Temporal  temporal.Client
	// Instance is the one that all tests have; see NewInstance for more.
	Instance *Instance

	sweeps      *sweeps
	rights      *rights
	operatorLog string
}

// NewEnvironment waits for a free fleet, and prepares its control plane, one remote cluster and an instance with these flags,
// which the test starts. It makes the test parallel. Where there is no fleet, the test is skipped. At the end of the test
// all Kymas are deleted, by the instance, and the test fails where that does not end.
func NewEnvironment(t testing.TB, flags ...string) *Environment {
	t.Helper()
	return newEnvironment(t, 1, flags)
}

// NewMultiClusterEnvironment is an environment with three remote clusters, as not every fleet has them.
func NewMultiClusterEnvironment(t testing.TB, flags ...string) *Environment {
	t.Helper()
	return newEnvironment(t, 3, flags)
}

func newEnvironment(t testing.TB, remotes int, flags []string) *Environment {
	t.Helper()
	fleet := fleets.Take(t, remotes)
	s := &Environment{T: t, Fleet: fleet, sweeps: &sweeps{}, ControlPlane: cluster.Open(t, fleet.ControlPlane), Registry: fleet.Registry.Host}
	for _, remote := range fleet.Remotes {
		s.Remotes = append(s.Remotes, cluster.Open(t, remote))
	}
	s.Remote = s.Remotes[0]
	s.Namespace, s.Temporal = s.NewTemporalNamespace()
	s.removeDefinitions()
	cluster.InstallDefinitions(t, s.ControlPlane)
	s.EnsureNamespace(s.ControlPlane, ControlPlaneNamespace)
	s.forgetInstances()
	// Clean-up runs in reverse: Kymas go while instance and operator still serve them.
	s.serveSamples()
	s.Instance = s.NewInstance(flags...)
	s.rights = newRights(s)
	t.Cleanup(s.rights.remove)
	t.Cleanup(s.clearAfterFailure)
	t.Cleanup(s.Instance.Stop)
	t.Cleanup(s.DeleteEverything)
	return s
}

// forgetInstances deletes what instances of earlier tests have left: their settings, by which commands would go, and the
// Leases of those that elected a leader, without which this one does not lead for commands.
func (s *Environment) forgetInstances() {
	s.T.Helper()
	var records corev1.ConfigMapList
	require.NoError(s.T, s.ControlPlane.List(s.T.Context(), &records, client.MatchingLabels{shared.LabelPurpose: "instance-settings"}))
	for i := range records.Items {
		require.NoError(s.T, client.IgnoreNotFound(s.ControlPlane.Delete(s.T.Context(), &records.Items[i])))
	}
	require.NoError(s.T, s.ControlPlane.DeleteAllOf(s.T.Context(), &coordinationv1.Lease{}, client.InNamespace(ControlPlaneNamespace)))
}

// At is the environment with another of its remote clusters, counted from 0, in place of the first.
func (s *Environment) At(number int) *Environment {
	there := *s
	there.Remote = s.Remotes[number]
	return &there
}

// Eventually waits until what is asserted is true. If that does not happen in time, it prints what may say why, and ends the test.
func (s *Environment) Eventually(what string, within time.Duration, check func(c *assert.CollectT)) {
	s.T.Helper()
	if !assert.EventuallyWithT(s.T, check, within, 200*time.Millisecond, what) {
		s.explain()
		s.T.FailNow()
	}
}

// explain prints what may say why something has not happened: the end of the logs, what each Manifest and each workflow waits for,
// what is being deleted, and the state of the fleet if a part of it does not work.
func (s *Environment) explain() {
	s.T.Helper()
	s.Instance.PrintLog()
	printEnd(s.T, "the sample module's operator's log", s.operatorLog)
	s.printWork()
	bounded, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var manifests v1beta2.ManifestList
	if err := s.ControlPlane.List(bounded, &manifests); err != nil {
		s.T.Logf("the Manifests cannot be listed: %v", err)
	}
	for _, m := range manifests.Items {
		s.T.Logf("Manifest %s: %s, %s", m.Name, m.Status.State, m.Status.LastOperation.Operation)
	}
	if out, err := exec.CommandContext(bounded, testfleet.Binary(s.T, "fleet"), "status", "--state-dir", s.Fleet.StateDir).CombinedOutput(); err != nil {
		s.T.Logf("the fleet: %v\n%s", err, out)
	}
	// It ends the test where a cluster does not answer.
	for at, remote := range s.Remotes {
		for _, object := range remote.All(s.T) {
			if since := object.DeletionTimestamp; since != nil {
				s.T.Logf("remote cluster %d: %s %s/%s is being deleted since %s, and has the finalizers %v", at, object.Kind, object.Namespace, object.Name, since.Format(time.TimeOnly), object.Finalizers)
			}
		}
	}
}

// Run runs a program to its end and returns its standard output. Where it fails, the test does.
func (s *Environment) Run(program string, args ...string) []byte {
	s.T.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(s.T.Context(), program, args...)
	// Where the operators' modules are pinned; paths in arguments are absolute.
	cmd.Dir = filepath.Join(testfleet.Root(s.T), "test", "modules")
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(s.T, cmd.Run(), "%s %s: %s", filepath.Base(program), strings.Join(args, " "), errs.String())
	return out.Bytes()
}

// Variables are the environment variables of programs, by which they find the fleet.
func (s *Environment) Variables() []string {
	return append(append(os.Environ(), "FLEET_STATE_DIR="+s.Fleet.StateDir), s.temporalVariables()...)
}

// temporalVariables are those by which an instance finds Temporal.
func (s *Environment) temporalVariables() []string {
	return []string{"TEMPORAL_ADDRESS=" + s.Fleet.Temporal.Address, "TEMPORAL_NAMESPACE=" + s.Namespace}
}

// RunFleet runs bin/fleet on the environment's fleet, such as `stop --kill temporal`. It works in clean-ups too.
func (s *Environment) RunFleet(args ...string) {
	s.T.Helper()
	bounded, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(bounded, testfleet.Binary(s.T, "fleet"), args...)
	cmd.Env = s.Variables()
	out, err := cmd.CombinedOutput()
	require.NoError(s.T, err, "fleet %s: %s", strings.Join(args, " "), out)
}

// removeDefinitions waits until the clusters have no definition that the previous test no longer uses, usually briefly, but
// deletions may take minutes. The remote clusters have none of ours then, also where a test has put them there.
func (s *Environment) removeDefinitions() {
	s.T.Helper()
	for _, c := range append([]cluster.Cluster{s.ControlPlane}, s.Remotes...) {
		require.EventuallyWithT(s.T, func(collect *assert.CollectT) {
			var definitions apiextensionsv1.CustomResourceDefinitionList
			require.NoError(collect, c.List(s.T.Context(), &definitions))
			for i := range definitions.Items {
				definition := &definitions.Items[i]
				isLeft := definition.Spec.Group == v1beta2.GroupVersion.Group && c != s.ControlPlane
				if isLeft && definition.DeletionTimestamp.IsZero() {
					assert.NoError(collect, client.IgnoreNotFound(c.Delete(s.T.Context(), definition)))
				}
				assert.True(collect, definition.DeletionTimestamp.IsZero() && !isLeft, "%s is still being deleted", definition.Name)
			}
		}, 3*time.Minute, 200*time.Millisecond)
	}
}
