package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	temporal "go.temporal.io/sdk/client"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/harness/proxy"
)

// killing is a moment at which a process is killed: while it takes a step of a Kyma with five modules.
type killing struct {
	// during is the activity that takes the step.
	during string
	// at has the request blocked at which the process is killed, and which never arrives; nil for none. Where queued is true, it
	// is killed once the activity runs on its queue.
	at      *proxy.Blocker
	path    string
	methods []string
	queued  bool
	// after, where it is set, is a request that is let through before.
	after *killing
	// always is true if it is tried in each run of the tests, and not only with CRASHPOINTS=all (make crashpoints).
	always bool
}

// A process killed during any activity of an installation, an upgrade and a removal of five modules, and started again each
// time, must have the same result as one that was not, and must not have applied anything that is not wanted.
func TestAProcessKilledDuringItsWorkHasTheSameResult(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	others := []string{"alpha", "beta", "gamma", "delta"}
	modules, upgraded := []string{"sample@1.0.0"}, []string{"sample@1.1.0"}
	for _, name := range others {
		s.PushModule(harness.MinimalModule{Name: name, Channels: "regular, fast"})
		modules, upgraded = append(modules, name+"@1.0.0"), append(upgraded, name+"@1.0.0")
	}
	admin, err := os.ReadFile(s.ControlPlane.Kubeconfig)
	require.NoError(t, err)
	control := proxy.NewBlocker(t, admin)
	s.ControlPlane.Access = filepath.Join(t.TempDir(), "kubeconfig.yaml")
	require.NoError(t, os.WriteFile(s.ControlPlane.Access, harness.Kubeconfig(t, "https://"+control.Address(), control.Authority, nil), 0o600))
	s.Instance.AllNamespaces = true
	s.Instance.Start()
	remote, through := s.ThroughBlocker(t)
	s.GiveAccess("killed", through)

	install := func() {
		kyma := harness.NewKyma("killed", append(others, "sample")...)
		metav1.SetMetaDataAnnotation(&kyma.ObjectMeta, shared.AnnotationPurgeGracePeriod, "20s")
		require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	}
	upgrade := func() { s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" }) }
	remove := func() { require.NoError(t, s.ControlPlane.Delete(t.Context(), s.Kyma("killed"))) }
	isRemoved := func(t *testing.T, kyma *v1beta2.Kyma) {
		s.Eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
		require.Empty(t, s.OfModule(t, s.Remote))
	}
	install()
	s.BecomesReady("killed", modules...)
	installed := cluster.Shapes(s.Remote.All(t))
	upgrade()
	s.BecomesReady("killed", upgraded...)
	afterUpgrade := cluster.Shapes(s.Remote.All(t))
	require.NotEqual(t, installed, afterUpgrade)
	kyma := s.Kyma("killed")
	remove()
	isRemoved(t, kyma)

	kill := func(k killing, begin func()) {
		if k.after != nil {
			k.after.at.Block(k.after.path, k.after.methods...)
			begin()
			k.after.at.Await()
			k.after.at.Release()
			begin = func() {}
		}
		if k.at != nil {
			k.at.Block(k.path, k.methods...)
		}
		begin()
		if k.at != nil {
			k.at.Await()
		}
		if k.queued {
			s.Eventually(k.during+" runs on its queue", time.Minute, func(c *assert.CollectT) {
				now, err := s.Temporal.DescribeWorkflow(t.Context(), kick.KymaWorkflowID(kick.RefOf(s.Kyma("killed"))), "")
				require.NoError(c, err)
				var running []string
				for _, activity := range now.RawResponse.GetPendingActivities() {
					running = append(running, activity.GetActivityType().GetName())
				}
				assert.Contains(c, running, k.during)
			})
		}
		s.Instance.Kill()
		if k.at != nil {
			k.at.Drop()
		}
		s.Instance.Start()
	}
	write := []string{http.MethodPost, http.MethodPatch, http.MethodPut}
	installing := []killing{
		{during: "SyncRemote", at: remote, path: "/kymas", methods: write},
		{during: "ResolveKyma", at: control, path: "/manifests", methods: write},
		{during: "InstallModules, before anything is applied", at: control, path: "/manifests/", methods: write},
		{during: "InstallModules", at: remote, path: "/configmaps/", methods: write, always: true},
		{during: "ApplyManifest", at: remote, path: "/configmaps/", methods: write, queued: true},
		{during: "EnsureDefaultCR", at: remote, path: "/samples", methods: write},
		{
			during: "FollowModules", at: remote, path: "/samples/", methods: []string{http.MethodGet}, queued: true,
			after: &killing{at: remote, path: "/samples", methods: write},
		},
		{during: "ReportKyma", at: remote, path: "/kymas/default/status", methods: write},
	}
	upgrading := []killing{{during: "InstallModules", at: remote, path: "/deployments/", methods: write, always: true}}
	removing := []killing{
		{during: "DeleteManifests", at: control, path: "/manifests/", methods: []string{http.MethodDelete}},
		{during: "RemoveManifest", at: remote, path: "/samples/", methods: []string{http.MethodDelete}, always: true},
		{during: "RemoveManifest, and its objects", at: remote, path: "/configmaps/", methods: []string{http.MethodDelete}},
		{during: "CleanUpAndRelease", at: remote, path: "/kymas/", methods: []string{http.MethodDelete}},
		{
			during: "CleanUpAndRelease, and its release", at: control, path: "/kymas/killed", methods: write,
			after: &killing{at: remote, path: "/kymas/", methods: []string{http.MethodDelete}},
		},
	}
	chosen := func(all []killing) []killing {
		if os.Getenv("CRASHPOINTS") == "all" {
			return all
		}
		return slices.DeleteFunc(all, func(k killing) bool { return !k.always })
	}
	installing, upgrading, removing = chosen(installing), chosen(upgrading), chosen(removing)
	for i := range max(len(installing), len(removing)) {
		if i < len(installing) {
			t.Run("an installation, killed during "+installing[i].during, func(t *testing.T) {
				kill(installing[i], install)
				s.BecomesReady("killed", modules...)
				require.Equal(t, installed, cluster.Shapes(s.Remote.All(t)))
			})
		} else {
			install()
			s.BecomesReady("killed", modules...)
		}
		if i < len(upgrading) {
			t.Run("an upgrade, killed during "+upgrading[i].during, func(t *testing.T) {
				kill(upgrading[i], upgrade)
				s.BecomesReady("killed", upgraded...)
				require.Equal(t, afterUpgrade, cluster.Shapes(s.Remote.All(t)))
			})
		}
		kyma := s.Kyma("killed")
		if i < len(removing) {
			t.Run("a removal, killed during "+removing[i].during, func(t *testing.T) {
				kill(removing[i], remove)
				isRemoved(t, kyma)
			})
		} else {
			remove()
			isRemoved(t, kyma)
		}
	}
	if os.Getenv("CRASHPOINTS") == "all" {
		t.Run("a removal that waits and is purged, killed during both", func(t *testing.T) {
			install()
			s.BecomesReady("killed", modules...)
			s.AddSampleFinalizer(t, "example.com/nobody")
			kyma := s.Kyma("killed")
			kill(killing{during: "WaitRemoval", queued: true}, remove)
			kill(killing{during: "PurgeManifest", at: remote, path: "/samples/", methods: write, queued: true}, func() {})
			isRemoved(t, kyma)
		})
	}
	s.GiveAccess("killed", s.RemoteAccess(t)) // the blocker ends before the environment is cleaned up
}

// Temporal's database has progress, not state: when the server loses it and starts empty, a settled fleet stays unchanged, and
// nothing is written to any remote cluster.
func TestALostTemporalDatabaseChangesNothing(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften()
	s.Namespace, s.Temporal = "default", nil
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	s.Create(harness.NewKyma("settled", "sample"))
	s.BecomesReady("settled", "sample@1.0.0")
	s.Instance.Stop()
	before := s.Remote.AtRest(t)

	s.RunFleet("reset", "temporal")
	var err error
	s.Temporal, err = temporal.Dial(temporal.Options{HostPort: s.Fleet.Temporal.Address, Namespace: s.Namespace})
	require.NoError(t, err)
	t.Cleanup(s.Temporal.Close)
	s.TriggerSweeps(s.Temporal)
	s.Instance.Start()
	s.Eventually("the Kyma's workflow runs again", time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "Running", s.WorkflowOf(s.Kyma("settled")))
	})
	s.Sweeps(t, 2) // two whole passes of the sweep check everything
	require.Empty(t, cluster.Differences(before, s.Remote.Versions(t)))
	require.Equal(t, shared.StateReady, s.Kyma("settled").Status.State)

	t.Run("a change is acted on as before", func(t *testing.T) {
		s.Push("test/modules/sample/1.1.0")
		s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
		s.BecomesReady("settled", "sample@1.1.0")
	})
	t.Run("and loses it again while everything runs", func(t *testing.T) {
		s.PushMinimal("later")
		s.Eventually("the catalog in the remote cluster has it", time.Minute, func(c *assert.CollectT) {
			meta := &v1beta2.ModuleReleaseMeta{}
			assert.NoError(c, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "later"}, meta))
		})
		before := s.Remote.AtRest(t)
		s.RunFleet("reset", "temporal")
		lost := time.Now()
		s.Create(harness.NewSynced("after-the-loss", "later"))
		s.BecomesReady("after-the-loss", "later@1.0.0")
		require.Less(t, time.Since(lost), time.Minute, "it heals by itself")
		s.Eventually("the process is ready", time.Minute, func(c *assert.CollectT) { assert.True(c, process.IsReady(s.Instance.Probe)) })
		s.RemoveKyma("after-the-loss")
		s.RemoveNamespaces(s.Remote, "after-the-loss") // which stays with its Kyma's owner
		s.Sweeps(t, 2)
		require.Empty(t, cluster.Differences(before, s.Remote.Versions(t)))
		require.Equal(t, shared.StateReady, s.Kyma("settled").Status.State)
	})
}
