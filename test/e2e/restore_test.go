package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	temporal "go.temporal.io/sdk/client"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/docs"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// restored is a control plane that goes back to a snapshot, while remote clusters do not. Its Kymas:
//
//   - chosen: the owner of its cluster asks for a newer version and one more module after the snapshot
//   - edited: the same in the control plane
//   - back: deleted after the snapshot
//   - lost: created after the snapshot
type restored struct {
	*harness.Environment
	t        *testing.T
	snapshot string
	lost     *v1beta2.Kyma
	// before are all ConfigMaps in the remote cluster when the control plane was restored.
	before map[string]corev1.ConfigMap
}

// The worst case: Lifecycle Manager works all the time, and Temporal knows of what the control plane has forgotten.
func TestARestoredControlPlaneIsConvergedTo(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften() // what a cluster has is compared by passes
	r := newRestored(t, s)
	r.restore()
	r.isAsTheOwnerWants()
	r.Eventually("the module is what the restored control plane says", time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "1.0.0", r.MinimalVersion("edited", "restorable"))
		assert.Contains(c, strings.Join(r.Warnings(&r.Manifests(r.Kyma("edited"))[0])["UnknownObject"], ""), "edited/restorable-of-1.1.0")
	})
	require.Equal(t, r.before["edited/later"].ResourceVersion, r.configMaps()["edited/later"].ResourceVersion, "a module that is not known any more")
	r.isBack()
	require.True(t, r.IsGone(r.lost))
	require.Equal(t, r.before["lost/restorable"].ResourceVersion, r.configMaps()["lost/restorable"].ResourceVersion)
	r.Eventually("the workflow of the Kyma that is gone has ended", time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "Completed", r.WorkflowOf(r.lost))
	})
	r.isAtRest()

	t.Run("what nobody knows any more is found", func(t *testing.T) {
		found := r.remaining(t)
		require.Len(t, found, 2)
		require.Regexp(t, `^kcp-system/edited-later-\d+$`, found[0])
		require.Regexp(t, `^kcp-system/lost-restorable-\d+$`, found[1])
	})
	t.Run("asked for again, it is taken over as it is", func(t *testing.T) {
		r.upgrade("edited")
		require.NoError(t, r.ControlPlane.Create(t.Context(), harness.NewSynced("lost", "restorable")))
		r.BecomesReady("edited", "restorable@1.1.0", "later@1.0.0")
		r.BecomesReady("lost", "restorable@1.0.0")
		now := r.configMaps()
		for _, name := range []string{"edited/later", "edited/restorable", "edited/restorable-of-1.1.0", "lost/restorable", "lost/restorable-of-1.0.0"} {
			require.Equal(t, r.before[name].UID, now[name].UID, name)
		}
		require.Empty(t, r.remaining(t))
	})
	r.removeSynced()
}

// By the steps of docs/backup.md: nothing works until the control plane is up to date.
func TestAControlPlaneIsRestoredAndTemporalStartsEmpty(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften()
	s.Namespace, s.Temporal = "default", nil
	r := newRestored(t, s)
	r.RunFleet("stop", "temporal")
	r.restore()
	r.upgrade("edited")
	require.NoError(t, r.ControlPlane.Create(t.Context(), harness.NewSynced("lost", "restorable")))
	r.RunFleet("reset", "temporal")
	r.connectTemporal()

	r.isAsTheOwnerWants()
	r.BecomesReady("edited", "restorable@1.1.0", "later@1.0.0")
	r.BecomesReady("lost", "restorable@1.0.0")
	r.isBack()
	r.isAtRest()
	now := r.configMaps()
	for _, name := range []string{"edited/later", "edited/restorable", "edited/restorable-of-1.1.0", "lost/restorable", "lost/restorable-of-1.0.0"} {
		require.Equal(t, r.before[name].UID, now[name].UID, name)
		require.Equal(t, r.before[name].Data, now[name].Data, name)
	}
	require.NotContains(t, now, "edited/restorable-of-1.0.0")
	require.Empty(t, r.remaining(t))
	r.removeSynced()
}

func newRestored(t *testing.T, s *harness.Environment) *restored {
	t.Helper()
	r := &restored{Environment: s, t: t, snapshot: filepath.Join(t.TempDir(), "snapshot.db"), lost: harness.NewSynced("lost", "restorable")}
	r.Push("test/modules/sample/1.0.0")
	r.PushModule(harness.MinimalModule{Name: "later", Channels: "regular, fast"})
	r.pushPlain("1.0.0", "regular")
	r.pushPlain("1.1.0", "regular=1.0.0, fast")
	// In the first moments after its start, an API server refuses what roles permit, which test/rights would take for a right
	// that is missing.
	r.Instance.AllNamespaces = true
	r.Instance.Start()
	if r.Temporal == nil {
		r.connectTemporal()
	}
	for _, kyma := range []*v1beta2.Kyma{harness.NewKyma("chosen", "restorable"), harness.NewSynced("edited", "restorable"), harness.NewSynced("back", "sample")} {
		r.Create(kyma)
	}
	r.BecomesReady("chosen", "restorable@1.0.0")
	r.BecomesReady("edited", "restorable@1.0.0")
	r.BecomesReady("back", "sample@1.0.0")
	r.Give("lost")
	r.RunFleet("snapshot", "control-plane", r.snapshot)

	r.EditRemote(func(k *v1beta2.Kyma) {
		k.Spec.Channel = "fast"
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "later"})
	})
	r.upgrade("edited")
	require.NoError(t, r.ControlPlane.Create(t.Context(), r.lost))
	r.RemoveKyma("back")
	r.BecomesReady("chosen", "restorable@1.1.0", "later@1.0.0")
	r.BecomesReady("edited", "restorable@1.1.0", "later@1.0.0")
	r.BecomesReady("lost", "restorable@1.0.0")
	return r
}

// pushPlain pushes a module that has an object of another name in each version.
func (r *restored) pushPlain(version, channels string) {
	r.PushModule(harness.MinimalModule{Name: "restorable", Version: version, Channels: channels, Manifest: fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: restorable}
data: {version: %[1]s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: restorable-of-%[1]s}
`, version)})
}

func (r *restored) upgrade(name string) {
	harness.Edit(r.t, r.ControlPlane, r.Kyma(name), func(k *v1beta2.Kyma) {
		k.Spec.Modules[0].Channel = "fast"
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "later"})
	})
}

func (r *restored) restore() {
	r.before = r.configMaps()
	r.RunFleet("restore", "control-plane", r.snapshot)
}

func (r *restored) connectTemporal() {
	var err error
	r.Temporal, err = temporal.Dial(temporal.Options{HostPort: r.Fleet.Temporal.Address, Namespace: r.Namespace})
	require.NoError(r.t, err)
	r.t.Cleanup(r.Temporal.Close)
	r.TriggerSweeps(r.Temporal)
}

// configMaps are those in the remote cluster, by namespace and name.
func (r *restored) configMaps() map[string]corev1.ConfigMap {
	var list corev1.ConfigMapList
	require.NoError(r.t, r.Remote.List(r.t.Context(), &list))
	found := map[string]corev1.ConfigMap{}
	for _, each := range list.Items {
		found[each.Namespace+"/"+each.Name] = each
	}
	return found
}

// isAsTheOwnerWants waits until the Kyma has again what its owner asked for in the remote cluster, and nothing of that was
// removed meanwhile.
func (r *restored) isAsTheOwnerWants() {
	r.BecomesReady("chosen", "restorable@1.1.0", "later@1.0.0")
	now := r.configMaps()
	for _, name := range []string{"restorable", "later"} {
		require.Equal(r.t, r.before["kyma-system/"+name].UID, now["kyma-system/"+name].UID, name)
	}
}

// isBack waits until the Kyma that had been deleted has its module again, and its default custom resource where it is told so.
func (r *restored) isBack() {
	samples := &unstructured.UnstructuredList{}
	samples.SetGroupVersionKind(harness.SampleGVK)
	r.Eventually("the module is installed again", time.Minute, func(c *assert.CollectT) {
		assert.Contains(c, r.OfModule(r.t, r.Remote), "Deployment kyma-system/sample-operator")
		assert.NoError(c, r.Remote.List(r.t.Context(), samples))
	})
	r.BecomesReady("back", "sample@1.0.0")
	require.Empty(r.t, samples.Items, "as its user might have deleted it")
	harness.Edit(r.t, r.ControlPlane, r.Kyma("back"), func(k *v1beta2.Kyma) {
		k.Annotations = map[string]string{shared.AnnotationRecreateDefaultCR: shared.ValueTrue}
	})
	r.Eventually("its default custom resource is made again", time.Minute, func(c *assert.CollectT) {
		require.NoError(c, r.Remote.List(r.t.Context(), samples))
		assert.Len(c, samples.Items, 1)
	})
}

// isAtRest waits until a pass of the sweep writes nothing to the remote cluster: the last state of a Kyma may be told after
// everything else.
func (r *restored) isAtRest() {
	r.Eventually("nothing more is written", 2*time.Minute, func(c *assert.CollectT) {
		at := r.Remote.AtRest(r.t)
		r.Sweeps(r.t, 1)
		assert.Empty(c, cluster.Differences(at, r.Remote.Versions(r.t)))
	})
}

// remaining runs the script of docs/backup.md, which lists the Manifests that nobody knows any more.
func (r *restored) remaining(t *testing.T) []string {
	t.Helper()
	page, err := docs.Pages.ReadFile("backup.md")
	require.NoError(t, err)
	script := regexp.MustCompile("(?s)```sh\n(# remaining.sh .+?)\n```").FindSubmatch(page)
	require.NotNil(t, script)
	folder := t.TempDir()
	require.NoError(t, os.Symlink(r.Fleet.Kubectl, filepath.Join(folder, "kubectl")))
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", string(script[1]), "remaining.sh", r.Remote.Kubeconfig)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "KUBECONFIG="+r.ControlPlane.Kubeconfig)
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

// removeSynced removes the Kymas whose namespaces stay with their owners, and these namespaces.
func (r *restored) removeSynced() {
	names := []string{"edited", "back", "lost"}
	for _, name := range names {
		r.RemoveKyma(name)
	}
	r.RemoveNamespaces(r.Remote, names...)
}
