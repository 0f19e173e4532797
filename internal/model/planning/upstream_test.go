package planning

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
)

// byUpstream returns a Manifest as upstream writes it.
func byUpstream(m *v1beta2.Manifest) *v1beta2.Manifest {
	m.Spec.Remote = false
	m.Spec.Install.Source.Repo, m.Spec.Install.Source.Name = "registry.example.com/modules", "kyma-project.io/module/keda"
	m.Spec.Install.Source.MediaType, m.Spec.Install.Source.Size = "", 0
	m.Status.Synced = []v1beta2.SyncedObject{{Version: "v1", Kind: "ConfigMap", Name: "settings", Namespace: "kyma-system"}}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	delete(m.Annotations, desired.AnnotationSpecDigest)
	m.Annotations["sync-oci-ref"] = "sha256:1"
	m.Annotations["operator.kyma-project.io/fqdn"] = "kyma-project.io/module/keda"
	return m
}

// Upstream appends the folder of components to spec.install.source.repo when it reads a layer. It does not write a
// Manifest again if version and channel stay.
func TestADifferentFormOfARepositoryIsNotAChange(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	kyma, settings := desiredtest.Kyma("keda"), desired.Settings{Mode: desired.ModeSingleCluster}
	planOf := func(manifest *v1beta2.Manifest) ModulePlan {
		plans, _ := (&setup{kyma: kyma, settings: settings, templates: []*v1beta2.ModuleTemplate{template}, manifests: []*v1beta2.Manifest{manifest}}).plan(t)
		return plans["keda"]
	}
	wanted := manifestOf(t, kyma, settings, template)
	older := wanted.DeepCopy()
	older.Spec.Install.Source.Repo += "/component-descriptors"
	older.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(older.Spec)

	plan := planOf(older)
	require.Equal(t, ActionKeep, plan.Action, "the module is not installed again")
	require.Equal(t, desired.SpecDigest(older.Spec), plan.Destination.Record.SpecDigest, "the decision is about the written spec")
	require.Equal(t, ActionKeep, planOf(wanted).Action)

	edited := wanted.DeepCopy()
	edited.Spec.Install.Source.Repo += "/component-descriptors"
	require.Equal(t, ActionUpdate, planOf(edited).Action, "an edit is undone")

	template.Spec.Descriptor = desiredtest.Descriptor(wanted.ComponentName(), "1.1.0")
	require.Equal(t, "registry.example.com/modules", planOf(older).Manifest.Spec.Install.Source.Repo, "the next version has upstream's form")
}

func TestAManifestOfUpstreamIsTakenOverOnlyIfTheCatalogHasTheSame(t *testing.T) {
	next := desiredtest.Template("keda", "2.0.0")
	next.Spec.RequiresDowntime = true
	kyma := desiredtest.Accepted(desiredtest.Kyma(), v1beta2.SyncGenerationDefault, "regular", v1beta2.Module{Name: "keda"})
	s := setup{
		kyma: kyma, settings: desired.Settings{Mode: desired.ModeControlPlane}, window: func() Wait { return Wait{} },
		templates: []*v1beta2.ModuleTemplate{desiredtest.Template("keda", "1.0.0"), next},
		metas:     []*v1beta2.ModuleReleaseMeta{desiredtest.ReleaseMeta("keda", "regular=1.0.0")},
	}
	first, _ := s.plan(t)
	ours := first["keda"].Manifest
	s.metas = []*v1beta2.ModuleReleaseMeta{desiredtest.ReleaseMeta("keda", "regular=2.0.0")}
	s.unrecorded = []string{ours.Name}

	for name, test := range map[string]struct {
		change func(*v1beta2.Manifest)
		action Action
	}{
		"as the catalog has it": {action: ActionUpdate},
		"with a selector of credentials": {action: ActionUpdate, change: func(m *v1beta2.Manifest) {
			m.Spec.Install.Source.CredSecretSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"registry": "private"}}
		}},
		"a folder":         {action: ActionKeep, change: func(m *v1beta2.Manifest) { m.Spec.Install.Source.Type = v1beta2.ImageSourceOCIDir }},
		"another layer":    {action: ActionKeep, change: func(m *v1beta2.Manifest) { m.Spec.Install.Source.Ref = desiredtest.Digest("f") }},
		"another registry": {action: ActionKeep, change: func(m *v1beta2.Manifest) { m.Spec.Install.Source.Repo = "elsewhere.example.com" }},
		"another default custom resource": {action: ActionKeep, change: func(m *v1beta2.Manifest) {
			m.Spec.Resource = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`)}
		}},
		"a version that the catalog does not have": {action: ActionKeep, change: func(m *v1beta2.Manifest) { m.Spec.Version = "1.0.1" }},
	} {
		t.Run(name, func(t *testing.T) {
			theirs := byUpstream(ours.DeepCopy())
			if test.change != nil {
				test.change(theirs)
			}
			s := s
			s.manifests = []*v1beta2.Manifest{theirs}
			plans, _ := s.plan(t)
			plan := plans["keda"]
			require.Equal(t, test.action, plan.Action)
			require.NotNil(t, plan.Window)
			if test.action == ActionKeep {
				require.Nil(t, plan.Record, "the edited spec is not installed")
				return
			}
			require.Equal(t, "1.0.0", plan.Manifest.Spec.Version)
			require.Equal(t, ours.Spec, plan.Manifest.Spec)
			require.Equal(t, planned.Record(plan.Manifest, false), *plan.Record)
		})
	}
}

func TestALostPlanIsRecordedAgainOnlyIfTheCatalogHasTheSame(t *testing.T) {
	next := desiredtest.Template("keda", "2.0.0")
	next.Spec.RequiresDowntime = true
	s := setup{
		kyma: desiredtest.Kyma("keda"), templates: []*v1beta2.ModuleTemplate{desiredtest.Template("keda", "1.0.0"), next},
		metas: []*v1beta2.ModuleReleaseMeta{desiredtest.ReleaseMeta("keda", "regular=1.0.0")}, window: func() Wait { return Wait{} },
	}
	first, _ := s.plan(t)
	installed := first["keda"].Manifest
	s.metas = []*v1beta2.ModuleReleaseMeta{desiredtest.ReleaseMeta("keda", "regular=2.0.0")}
	s.manifests = []*v1beta2.Manifest{installed}
	plans, _ := s.plan(t)
	require.Nil(t, plans["keda"].Record, "the earlier decision stays while the upgrade waits")

	s.unrecorded = []string{installed.Name}
	plans, _ = s.plan(t)
	require.Equal(t, ActionKeep, plans["keda"].Action)
	require.Equal(t, planned.Record(installed, false), *plans["keda"].Record)

	edited := installed.DeepCopy()
	edited.Spec.Install.Source.Ref = desiredtest.Digest("f")
	s.manifests = []*v1beta2.Manifest{edited}
	plans, _ = s.plan(t)
	require.Equal(t, ActionKeep, plans["keda"].Action)
	require.Nil(t, plans["keda"].Record)
}

// A forged Manifest once stayed permanently if it had the label or component of an existing module.
func TestAManifestThatNoPlanEverHadDoesNotStay(t *testing.T) {
	made := func(change func(*v1beta2.Manifest)) *v1beta2.Manifest {
		m := installed("keda", "1.0.0")
		m.Name, m.Spec.Remote = "forged", true
		change(m)
		return m
	}
	for name, test := range map[string]struct {
		manifest *v1beta2.Manifest
		modules  []string
	}{
		"of a wanted module": {made(func(*v1beta2.Manifest) {}), []string{"keda"}},
		"of its component": {made(func(m *v1beta2.Manifest) {
			m.Labels[shared.LabelModuleName] = "other"
		}), []string{"keda"}},
		"of a module that every Kyma has": {made(func(m *v1beta2.Manifest) { m.Labels[shared.LabelMandatoryModule] = "true" }), []string{"keda"}},
		"with the mandatory label, of an unknown module": {made(func(m *v1beta2.Manifest) {
			m.Labels[shared.LabelMandatoryModule], m.Labels[shared.LabelModuleName] = "true", "nobodys"
			m.Annotations = nil
		}), []string{"keda"}},
		"while an entry is unresolved": {made(func(m *v1beta2.Manifest) {
			m.Labels[shared.LabelModuleName], m.Annotations = "nobodys", nil
		}), []string{"keda", "typo"}},
		"of a module that no entry means": {made(func(m *v1beta2.Manifest) {
			m.Labels[shared.LabelModuleName], m.Annotations = "nobodys", nil
		}), []string{"keda"}},
		"in the shape of an agent": {made(func(m *v1beta2.Manifest) { m.Annotations[desired.AnnotationAgent] = "{}" }), []string{"keda"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := setup{
				kyma: desiredtest.Kyma(test.modules...), templates: []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("keda", "regular", "1.0.0")},
				manifests: []*v1beta2.Manifest{installed("keda", "1.0.0"), test.manifest}, unrecorded: []string{"forged"},
			}
			plans := s.plans(t)
			require.Len(t, plans.Unknown, 1)
			require.Equal(t, "forged", plans.Unknown[0].Name)

			// Even as the only Manifest of that module, it does not become the module's Manifest.
			s.manifests = s.manifests[1:]
			plans = s.plans(t)
			require.Equal(t, ActionCreate, plans.Modules[0].Action)
			require.NotEqual(t, "forged", plans.Modules[0].Manifest.Name)

			s.unrecorded = nil
			require.Empty(t, s.plans(t).Unknown, "a Manifest that an earlier plan had stays as long as an entry may mean it")
			s.unrecorded = []string{"forged"}
			test.manifest.Status.InstalledRef = "sha256:1"
			require.Empty(t, s.plans(t).Unknown, "a Manifest with an installation stays too")
		})
	}
}
