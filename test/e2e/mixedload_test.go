package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/tasks"
)

const (
	moduleSample, moduleAlpha, moduleBeta = "sample", "alpha", "beta"
	// moduleStaged is what every Kyma has in the channel regular, where new versions come in stages.
	moduleStaged                = "staged-module"
	channelRegular, channelFast = "regular", "fast"
)

// mixedCatalog is what the catalog has.
type mixedCatalog struct {
	// versions are those of each module, channels the version of each channel of it.
	versions map[string][]string
	channels map[string]map[string]string
}

// mixedKyma is a Kyma and what was last asked for.
type mixedKyma struct {
	name string
	// remote is the number of its cluster, namespace where the modules go there.
	remote    int
	namespace string
	// byOwner is true where the intent is that of the remote Kyma, which the cluster's owner edits.
	byOwner bool
	exists  bool
	// modules are those that it is to have, with their channels.
	modules map[string]string
}

// newCatalog fills the catalog with two versions of each module.
func (m *mixedRun) newCatalog() *mixedCatalog {
	m.t.Helper()
	c := &mixedCatalog{versions: map[string][]string{}, channels: map[string]map[string]string{}}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		m.Push("test/modules/sample/" + version)
		for _, module := range []string{moduleAlpha, moduleBeta} {
			m.PushModule(harness.MinimalModule{Name: module, Version: version, Channels: "fast, regular=1.0.0"})
		}
	}
	c.versions[moduleStaged], c.channels[moduleStaged] = []string{"1.0.0"}, map[string]string{channelRegular: "1.0.0"}
	m.PushModule(harness.MinimalModule{Name: moduleStaged, Version: "1.0.0", Channels: channelRegular})
	first, soak := int32(1), metav1.Duration{Duration: 10 * time.Second}
	require.NoError(m.t, m.ControlPlane.Create(m.t.Context(), &v1beta2.RolloutPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: moduleStaged, Namespace: harness.ControlPlaneNamespace},
		Spec: v1beta2.RolloutPolicySpec{Modules: []string{moduleStaged}, RolloutPlan: v1beta2.RolloutPlan{
			Stages: []v1beta2.RolloutStage{{Name: "canary", Count: &first, Soak: &soak}},
		}},
	}))
	for _, module := range []string{moduleSample, moduleAlpha, moduleBeta} {
		c.versions[module] = []string{"1.0.0", "1.1.0"}
		c.channels[module] = map[string]string{channelRegular: "1.0.0", channelFast: "1.1.0"}
	}
	return c
}

// versionsOf are the modules that a Kyma is to have, as name@version.
func (c *mixedCatalog) versionsOf(k *mixedKyma) []string {
	var all []string
	for module, channel := range k.modules {
		all = append(all, module+"@"+c.channels[module][channel])
	}
	return all
}

// addKymas plans five Kymas in three clusters. The modules of two of them are in a namespace of their own.
func (m *mixedRun) addKymas() {
	for i, name := range []string{"red", "green", "blue"} {
		m.kymas = append(m.kymas, &mixedKyma{name: name, remote: i, namespace: harness.RemoteNamespace, byOwner: true, modules: map[string]string{moduleSample: channelRegular, moduleStaged: channelRegular}})
	}
	for i, name := range []string{"grey", "white"} {
		m.kymas = append(m.kymas, &mixedKyma{name: name, remote: i, namespace: name, modules: map[string]string{moduleAlpha: channelFast, moduleStaged: channelRegular}})
	}
}

// createKymas creates all Kymas, and waits until they have what they ask for, so that the remote Kymas are there.
func (m *mixedRun) createKymas() {
	m.t.Helper()
	for _, k := range m.kymas {
		m.At(k.remote).Give(k.name)
		m.create(k)
	}
	for _, k := range m.kymas {
		m.BecomesReady(k.name, m.catalog.versionsOf(k)...)
	}
}

func (m *mixedRun) create(k *mixedKyma) {
	m.t.Helper()
	kyma := harness.NewKyma(k.name)
	if !k.byOwner {
		kyma = harness.NewSynced(k.name)
	}
	kyma.Annotations = map[string]string{desired.AnnotationAllowDowngrade: shared.ValueTrue}
	kyma.Spec.Modules = k.entries()
	require.NoError(m.t, m.ControlPlane.Create(m.t.Context(), kyma))
	k.exists = true
}

// entries are its modules as a spec lists them.
func (k *mixedKyma) entries() []v1beta2.Module {
	var entries []v1beta2.Module
	for _, module := range slices.Sorted(maps.Keys(k.modules)) {
		entries = append(entries, v1beta2.Module{Name: module, Channel: k.modules[module]})
	}
	return entries
}

// ask writes a Kyma's intent where it is decided.
func (m *mixedRun) ask(k *mixedKyma) {
	m.t.Helper()
	change := func(kyma *v1beta2.Kyma) { kyma.Spec.Modules = k.entries() }
	if k.byOwner {
		there := m.At(k.remote)
		harness.Edit(m.t, there.Remote, there.RemoteKyma(), change)
		return
	}
	harness.Edit(m.t, m.ControlPlane, m.Kyma(k.name), change)
}

// change does one thing that somebody may do at any time.
func (m *mixedRun) change() {
	m.t.Helper()
	k := m.kymas[m.random.IntN(len(m.kymas))]
	module := m.oneOf(m.modulesOf(k)...)
	if !k.exists {
		m.createAgain(k)
		return
	}
	switch at := m.random.IntN(20); {
	case at < 5: // a module is enabled or disabled
		if k.modules[module] != "" {
			delete(k.modules, module)
		} else {
			k.modules[module] = m.oneOf(channelRegular, channelFast)
		}
		m.ask(k)
	case at < 8: // a module goes to another channel
		k.modules[module] = m.oneOf(channelRegular, channelFast)
		m.ask(k)
	case at < 10:
		m.moveChannel(module, m.oneOf(channelRegular, channelFast), m.oneOf(m.catalog.versions[module]...))
	case at < 11:
		m.release(m.oneOf(moduleAlpha, moduleBeta))
	case at < 13: // a mark that is no intent
		harness.Edit(m.t, m.ControlPlane, m.Kyma(k.name), func(kyma *v1beta2.Kyma) {
			metav1.SetMetaDataLabel(&kyma.ObjectMeta, "example.com/mark", m.oneOf("a", "b", "c"))
			metav1.SetMetaDataAnnotation(&kyma.ObjectMeta, "example.com/mark", m.oneOf("a", "b", "c"))
		})
	case at < 14:
		m.loseObject(k, module)
	case at < 16:
		m.continueAsNew(k)
	case at < 18:
		m.reconcile(k)
	case !k.byOwner:
		require.NoError(m.t, m.ControlPlane.Delete(m.t.Context(), m.Kyma(k.name)))
		k.exists = false
	}
}

// desire has the sample module of a Kyma, where it is installed, be in a state from now on, and returns the one that it is in.
func (m *mixedRun) desire(k *mixedKyma, state shared.State) string {
	m.t.Helper()
	if k.modules[moduleSample] == "" {
		k.modules[moduleSample] = channelRegular
		m.ask(k)
	}
	sample := &unstructured.Unstructured{}
	sample.SetGroupVersionKind(harness.SampleGVK)
	sample.SetNamespace(harness.RemoteNamespace)
	sample.SetName("default")
	err := m.Remotes[k.remote].Patch(m.t.Context(), sample, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"desiredState":"`+string(state)+`"}}`)))
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		require.NoError(m.t, err)
	}
	is, _, _ := unstructured.NestedString(sample.Object, "status", "state")
	return is
}

// keepBusy waits until a build works on a Manifest, and keeps it at that.
func (m *mixedRun) keepBusy(build string) {
	m.t.Helper()
	k := m.kymas[0]
	m.Eventually("a Manifest is worked on by "+build, settlesWithin, func(c *assert.CollectT) {
		require.Equal(c, string(shared.StateProcessing), m.desire(k, shared.StateProcessing))
		for _, manifest := range m.Manifests(m.Kyma(k.name)) {
			if manifest.Labels[shared.LabelModuleName] != moduleSample {
				continue
			}
			require.Equal(c, shared.StateProcessing, manifest.Status.State)
			m.requireLastBuild(c, build, fmt.Sprintf("WorkflowId = '%s'", kick.KymaWorkflowID(kick.RefOf(m.Kyma(k.name)))))
			return
		}
		assert.Fail(c, "there is no such Manifest")
	})
}

// requireLastBuild requires that the only open run that a query finds had its last workflow task from a build.
func (m *mixedRun) requireLastBuild(c *assert.CollectT, build, query string) {
	runs := m.Runs("ExecutionStatus = 'Running' AND " + query)
	require.Len(c, runs, 1)
	// The list may be behind, and the run have ended.
	now, err := m.Temporal.DescribeWorkflow(m.t.Context(), runs[0].ID, runs[0].RunID)
	require.NoError(c, err)
	require.Equal(c, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, now.Status)
	builds := tasks.Of(m.HistoryOf(runs[0])).Builds
	require.NotEmpty(c, builds)
	require.Equal(c, build, builds[len(builds)-1])
}

// modulesOf are those that a Kyma may have: the sample module is in the whole cluster, so one Kyma of each has it.
func (m *mixedRun) modulesOf(k *mixedKyma) []string {
	if k.byOwner {
		return []string{moduleSample, moduleAlpha, moduleBeta}
	}
	return []string{moduleAlpha, moduleBeta}
}

func (m *mixedRun) oneOf(of ...string) string { return of[m.random.IntN(len(of))] }

// createAgain creates one of the same name as soon as the deleted one is gone.
func (m *mixedRun) createAgain(k *mixedKyma) {
	m.t.Helper()
	k.modules = map[string]string{m.oneOf(moduleAlpha, moduleBeta): m.oneOf(channelRegular, channelFast), moduleStaged: channelRegular}
	if m.IsGone(harness.NewKyma(k.name)) {
		m.create(k)
	}
}

// moveChannel puts a version into a channel.
func (m *mixedRun) moveChannel(module, channel, version string) {
	m.t.Helper()
	m.catalog.channels[module][channel] = version
	release := &v1beta2.ModuleReleaseMeta{ObjectMeta: metav1.ObjectMeta{Name: module, Namespace: harness.ControlPlaneNamespace}}
	harness.EditObject(m.t, m.ControlPlane, release, func() {
		for i := range release.Spec.Channels {
			if release.Spec.Channels[i].Channel == channel {
				release.Spec.Channels[i].Version = version
			}
		}
	})
}

// release pushes a new version, and puts it into the channel for those who want it first.
func (m *mixedRun) release(module string) {
	m.t.Helper()
	version := fmt.Sprintf("1.%d.0", len(m.catalog.versions[module]))
	m.PushModule(harness.MinimalModule{Name: module, Version: version})
	m.catalog.versions[module] = append(m.catalog.versions[module], version)
	m.moveChannel(module, channelFast, version)
}

// rollOut publishes a new version of the module that every Kyma has. A rollout that is under way is superseded.
func (m *mixedRun) rollOut() {
	m.t.Helper()
	version := fmt.Sprintf("1.%d.0", len(m.catalog.versions[moduleStaged]))
	m.PushModule(harness.MinimalModule{Name: moduleStaged, Version: version, Channels: channelRegular})
	m.catalog.versions[moduleStaged] = append(m.catalog.versions[moduleStaged], version)
	m.catalog.channels[moduleStaged][channelRegular] = version
}

// loseObject deletes an object of a module, as somebody in the cluster may.
func (m *mixedRun) loseObject(k *mixedKyma, module string) {
	m.t.Helper()
	lost := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: configMapOf(module)}}
	require.NoError(m.t, client.IgnoreNotFound(m.Remotes[k.remote].Delete(m.t.Context(), lost)))
}

// continueAsNew asks the workflow of a Kyma for that, as an operator may. There may be none at the moment.
func (m *mixedRun) continueAsNew(k *mixedKyma) {
	m.t.Helper()
	_ = m.Temporal.SignalWorkflow(m.t.Context(), kick.KymaWorkflowID(kick.RefOf(m.Kyma(k.name))), "", kick.SignalContinueAsNew, nil)
}

// reconcile asks for a reconcile, and does not wait for the answer: who was asked may be killed before.
func (m *mixedRun) reconcile(k *mixedKyma) {
	m.t.Helper()
	id := kick.KymaWorkflowID(kick.RefOf(m.Kyma(k.name)))
	m.updates.Go(func() {
		bounded, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
		defer cancel()
		_, _ = m.Temporal.UpdateWorkflow(bounded, temporal.UpdateWorkflowOptions{
			WorkflowID: id, UpdateName: kick.UpdateReconcile, WaitForStage: temporal.WorkflowUpdateStageCompleted,
		})
	})
}
