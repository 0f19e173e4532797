package planning

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
)

// setup has the inputs of a plan. Tests change them.
type setup struct {
	kyma      *v1beta2.Kyma
	settings  desired.Settings
	templates []*v1beta2.ModuleTemplate
	metas     []*v1beta2.ModuleReleaseMeta
	rollouts  []*v1beta2.ModuleRollout
	manifests []*v1beta2.Manifest
	foreign   []*v1beta2.Manifest
	describe  func(*v1beta2.ModuleTemplate, string, string) (*versions.Descriptor, error)
	window    func() Wait
	now       time.Time
	owners    func(string) ([]v1beta2.Manifest, error)
	defaultCR func(v1beta2.ImageSpec) ([]byte, error)
	// unrecorded are the Manifests, by name, that no earlier plan of the Kyma had.
	unrecorded []string
}

func embedded(template *v1beta2.ModuleTemplate, _, _ string) (*versions.Descriptor, error) {
	return versions.ParseDescriptor(template.Spec.Descriptor.Raw)
}

func (s *setup) plan(t *testing.T) (map[string]ModulePlan, []string) {
	t.Helper()
	plans := s.plans(t)
	byName := map[string]ModulePlan{}
	for _, plan := range plans.Modules {
		byName[plan.Name] = plan
	}
	var names []string
	for _, manifest := range plans.Unwanted {
		names = append(names, manifest.Name)
	}
	return byName, names
}

func (s *setup) plans(t *testing.T) Plans {
	t.Helper()
	if s.settings.Mode == "" {
		s.settings.Mode = desired.ModeSingleCluster
	}
	if s.describe == nil {
		s.describe = embedded
	}
	var templates []v1beta2.ModuleTemplate
	for _, template := range s.templates {
		templates = append(templates, *template)
	}
	var metas []v1beta2.ModuleReleaseMeta
	for _, meta := range s.metas {
		metas = append(metas, *meta)
	}
	var rollouts []v1beta2.ModuleRollout
	for _, r := range s.rollouts {
		rollouts = append(rollouts, *r)
	}
	wanted := desired.WantedBy(s.kyma, desired.SyncOf(s.kyma, s.settings))
	index := inMemory(templates, metas, rollouts)
	catalog, err := desired.Gather(context.Background(), index, s.settings, wanted)
	require.NoError(t, err)
	request := Request{
		Kyma: s.kyma, Settings: s.settings, Wanted: wanted, Catalog: catalog,
		Pinned: func(module v1beta2.Module) desired.Catalog {
			pinned := wanted
			pinned.Modules = []v1beta2.Module{module}
			found, err := desired.Gather(context.Background(), index, s.settings, pinned)
			require.NoError(t, err)
			return found
		},
		Describe: s.describe, DefaultCR: s.defaultCR, Window: s.window, Now: s.now, Owners: s.owners,
		Known: func() []string {
			all := v1beta2.ModuleReleaseMetaList{}
			for _, meta := range s.metas {
				all.Items = append(all.Items, *meta)
			}
			return s.settings.ModulesFor(s.kyma, nil, all.Items)
		},
	}
	request.Kyma = s.kyma.DeepCopy()
	for _, manifest := range s.manifests {
		request.Manifests = append(request.Manifests, *manifest)
		if !slices.Contains(s.unrecorded, manifest.Name) {
			request.Kyma.Status.Planned = append(request.Kyma.Status.Planned, v1beta2.PlannedManifest{Name: manifest.Name, Digest: "earlier"})
		}
	}
	for _, manifest := range s.foreign {
		request.Foreign = append(request.Foreign, *manifest)
	}
	return Plan(request)
}

// installed returns the Manifest of a module of the sample Kyma.
func installed(module, version string) *v1beta2.Manifest {
	return &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{
			Name: shared.ManifestName("kyma-sample", desiredtest.Component(module), module), Namespace: desiredtest.Namespace,
			Labels: map[string]string{
				shared.LabelKymaName: "kyma-sample", shared.LabelModuleName: module, shared.LabelChannel: "regular",
			},
			Annotations:     map[string]string{shared.AnnotationOCMComponentName: desiredtest.Component(module)},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Kyma", Name: "kyma-sample", UID: "kyma-uid", Controller: new(true)}},
		},
		Spec: v1beta2.ManifestSpec{Version: version},
	}
}

func deleting(manifest *v1beta2.Manifest) *v1beta2.Manifest {
	now := metav1.Now()
	manifest.DeletionTimestamp = &now
	manifest.Finalizers = []string{shared.FinalizerManifest}
	return manifest
}

func modified[T any](object T, change func(T)) T {
	change(object)
	return object
}

// userProvided makes an entry ask for a user-provided template of the remote cluster.
func userProvided(module *v1beta2.Module) { module.RemoteModuleTemplateRef = "mine" }

// imported returns the copy of a user-provided template in the control plane.
func imported(module, version, remoteName string) *v1beta2.ModuleTemplate {
	template := desiredtest.Template(module, version)
	template.Name = "imported"
	template.Annotations[desired.AnnotationImportedFrom] = "kyma-system/" + remoteName
	template.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(desiredtest.Kyma(), v1beta2.GroupVersion.WithKind("Kyma"))}
	return template
}

func TestPlan(t *testing.T) {
	keda := func(change func(*v1beta2.Module)) *v1beta2.Kyma {
		kyma := desiredtest.Kyma("keda")
		if change != nil {
			change(&kyma.Spec.Modules[0])
		}
		return kyma
	}
	templates := func(all ...*v1beta2.ModuleTemplate) []*v1beta2.ModuleTemplate { return all }
	metas := func(all ...*v1beta2.ModuleReleaseMeta) []*v1beta2.ModuleReleaseMeta { return all }
	synced := desired.Settings{Mode: desired.ModeControlPlane}
	remotely := func(change func(*v1beta2.Module)) *v1beta2.Kyma {
		kyma := keda(change)
		return desiredtest.Accepted(kyma, v1beta2.SyncGenerationDefault, "regular", kyma.Spec.Modules...)
	}
	mt := desiredtest.Template
	ct := desiredtest.ChannelTemplate

	tests := []struct {
		name     string
		setup    setup
		action   Action
		version  string
		channel  string
		template string
		reason   string
		message  string // the message must contain this
	}{
		// By release meta.
		{
			name:   "a release meta decides the version of the Kyma's channel",
			setup:  setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0"), mt("keda", "2.0.0")), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0", "fast=2.0.0"))},
			action: ActionCreate, version: "1.0.0", channel: "regular", template: "keda-1.0.0",
		},
		{
			name:   "the module's own channel goes before the Kyma's",
			setup:  setup{kyma: keda(func(m *v1beta2.Module) { m.Channel = "fast" }), templates: templates(mt("keda", "1.0.0"), mt("keda", "2.0.0")), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0", "fast=2.0.0"))},
			action: ActionCreate, version: "2.0.0", channel: "fast", template: "keda-2.0.0",
		},
		{
			name: "without any channel the channel is regular",
			setup: setup{kyma: modified(keda(nil), func(k *v1beta2.Kyma) { k.Spec.Channel = "" }), templates: templates(mt("keda", "1.0.0")),
				metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"))},
			action: ActionCreate, version: "1.0.0", channel: "regular", template: "keda-1.0.0",
		},
		{
			name:   "a pinned version is used whatever the channels say",
			setup:  setup{kyma: keda(func(m *v1beta2.Module) { m.Version = "3.0.0" }), templates: templates(mt("keda", "1.0.0"), mt("keda", "3.0.0")), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"))},
			action: ActionCreate, version: "3.0.0", channel: "", template: "keda-3.0.0",
		},
		{
			name:   "an unknown channel is refused",
			setup:  setup{kyma: keda(func(m *v1beta2.Module) { m.Channel = "alpha" }), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0", "fast=2.0.0"))},
			action: ActionNone, channel: "alpha", reason: versions.ReasonNoVersionForChannel,
			message: "no versions found for channel: alpha in module keda",
		},
		{
			name:   "a channel whose template is missing",
			setup:  setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0")), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.1.0"))},
			action: ActionNone, version: "1.1.0", channel: "regular", reason: versions.ReasonTemplateNotFound, message: `failed to get module template: ModuleTemplate.operator.kyma-project.io "keda-1.1.0" not found`,
		},
		{
			name: "two release metas for one module are ambiguous",
			setup: setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0")), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"),
				modified(desiredtest.ReleaseMeta("keda", "regular=1.0.0"), func(m *v1beta2.ModuleReleaseMeta) { m.Namespace = "other" }))},
			action: ActionNone, channel: "regular", reason: versions.ReasonAmbiguous, message: "kcp-system/keda, other/keda",
		},
		{
			name: "the template named by convention beside its release meta goes before another of that version",
			setup: setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0"),
				modified(mt("keda", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Name = "another" })), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"))},
			action: ActionCreate, version: "1.0.0", channel: "regular", template: "keda-1.0.0",
		},
		{
			name: "two templates of the version, neither named by convention, are ambiguous",
			setup: setup{kyma: keda(nil), templates: templates(
				modified(mt("keda", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Name = "a" }),
				modified(mt("keda", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Name = "b" })), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"))},
			action: ActionNone, version: "1.0.0", channel: "regular", reason: versions.ReasonAmbiguous, message: "kcp-system/a, kcp-system/b",
		},
		{
			name: "a template that has only the conventional name belongs to its module",
			setup: setup{kyma: keda(nil), templates: templates(modified(mt("keda", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Spec.ModuleName = "" })),
				metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"))},
			action: ActionCreate, version: "1.0.0", channel: "regular", template: "keda-1.0.0",
		},
		{
			name:   "a release meta goes before a template with its own channel",
			setup:  setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0"), ct("keda", "regular", "9.0.0")), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"))},
			action: ActionCreate, version: "1.0.0", channel: "regular", template: "keda-1.0.0",
		},
		{
			name: "another instance's release meta does not count",
			setup: setup{kyma: keda(nil), templates: templates(ct("keda", "regular", "9.0.0")), metas: metas(
				modified(desiredtest.ReleaseMeta("keda", "regular=1.0.0"), func(m *v1beta2.ModuleReleaseMeta) { m.Labels[shared.LabelManagedBy] = "other" }))},
			action: ActionCreate, version: "9.0.0", channel: "regular", template: "keda-regular",
		},
		{
			name: "a mandatory module cannot be listed",
			setup: setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0")), metas: metas(modified(desiredtest.ReleaseMeta("keda"),
				func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.0.0"} }))},
			action: ActionNone, channel: "regular", reason: versions.ReasonMandatory, message: "mandatory",
		},
		// By template.
		{
			name:   "by the label with the module's name",
			setup:  setup{kyma: keda(nil), templates: templates(ct("keda", "regular", "1.0.0"), ct("keda", "fast", "2.0.0"))},
			action: ActionCreate, version: "1.0.0", channel: "regular", template: "keda-regular",
		},
		{
			name:   "by the name of the template",
			setup:  setup{kyma: desiredtest.Kyma("keda-regular"), templates: templates(ct("keda", "regular", "1.0.0"))},
			action: ActionCreate, version: "1.0.0", channel: "regular", template: "keda-regular",
		},
		{
			name:   "by namespace and name of the template",
			setup:  setup{kyma: desiredtest.Kyma("kcp-system/keda-regular"), templates: templates(ct("keda", "regular", "1.0.0"))},
			action: ActionCreate, version: "1.0.0", channel: "regular", template: "keda-regular",
		},
		{
			name:   "by the name of the component",
			setup:  setup{kyma: desiredtest.Kyma("kyma-project.io/module/keda"), templates: templates(ct("keda", "regular", "1.0.0"), ct("keda", "fast", "2.0.0"))},
			action: ActionCreate, version: "1.0.0", channel: "regular", template: "keda-regular",
		},
		{
			name: "the label goes before the template's own name, even if only the named template is in the channel",
			setup: setup{kyma: keda(nil), templates: templates(ct("keda", "fast", "1.0.0"),
				modified(ct("other", "regular", "2.0.0"), func(m *v1beta2.ModuleTemplate) { m.Name = "keda" }))},
			action: ActionNone, channel: "regular", reason: versions.ReasonNoVersionForChannel, message: "no versions found for channel: regular in module keda",
		},
		{
			name:   "no module of that name",
			setup:  setup{kyma: keda(nil), templates: templates(ct("btp", "regular", "1.0.0"))},
			action: ActionNone, channel: "regular", reason: versions.ReasonNotFound, message: "no ModuleReleaseMeta found",
		},
		{
			name:   "templates without channel need a release meta",
			setup:  setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0"))},
			action: ActionNone, channel: "regular", reason: versions.ReasonNotFound, message: "no ModuleReleaseMeta found",
		},
		{
			name:   "a pinned version needs no release meta",
			setup:  setup{kyma: keda(func(m *v1beta2.Module) { m.Version = "1.0.0" }), templates: templates(mt("keda", "1.0.0"), mt("keda", "2.0.0"))},
			action: ActionCreate, version: "1.0.0", template: "keda-1.0.0",
		},
		{
			name: "two templates in one channel are ambiguous, in whatever namespaces",
			setup: setup{kyma: keda(nil), templates: templates(ct("keda", "regular", "1.0.0"),
				modified(ct("keda", "regular", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Namespace = "other" }))},
			action: ActionNone, channel: "regular", reason: versions.ReasonAmbiguous, message: "kcp-system/keda-regular, other/keda-regular",
		},
		{
			name: "a mandatory template cannot be listed",
			setup: setup{kyma: keda(nil), templates: templates(modified(ct("keda", "regular", "1.0.0"),
				func(m *v1beta2.ModuleTemplate) { m.Spec.Mandatory = true }))},
			action: ActionNone, channel: "regular", reason: versions.ReasonMandatory, message: "mandatory",
		},
		{
			name: "a synced copy does not count as a template",
			setup: setup{kyma: keda(nil), templates: templates(modified(ct("keda", "regular", "1.0.0"),
				func(m *v1beta2.ModuleTemplate) { m.Annotations[desired.AnnotationSyncedFrom] = "a/b" }))},
			action: ActionNone, channel: "regular", reason: versions.ReasonNotFound, message: "no ModuleReleaseMeta found",
		},
		// Permission.
		{
			name: "a beta module needs a beta Kyma",
			setup: setup{kyma: keda(nil), templates: templates(modified(ct("keda", "regular", "1.0.0"),
				func(m *v1beta2.ModuleTemplate) { m.Labels[shared.LabelBeta] = "true" }))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-regular", reason: versions.ReasonNotAllowed, message: "module template not allowed: beta module",
		},
		{
			name: "a beta Kyma may have a beta module",
			setup: setup{kyma: modified(keda(nil), func(k *v1beta2.Kyma) { k.Labels[shared.LabelBeta] = "true" }), templates: templates(
				modified(ct("keda", "regular", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Labels[shared.LabelBeta] = "true" }))},
			action: ActionCreate, channel: "regular", version: "1.0.0", template: "keda-regular",
		},
		{
			name: "an internal release meta needs an internal Kyma",
			setup: setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0")), metas: metas(modified(desiredtest.ReleaseMeta("keda", "regular=1.0.0"),
				func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Internal = true }))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-1.0.0", reason: versions.ReasonNotAllowed, message: "module template not allowed: internal module",
		},
		{
			name: "a release meta restricts its module even if the entry names it by component",
			setup: setup{kyma: desiredtest.Kyma("kyma-project.io/module/keda"), templates: templates(ct("keda", "regular", "1.0.0")),
				metas: metas(modified(desiredtest.ReleaseMeta("keda", "regular=1.0.0"), func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Internal = true }))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-regular", reason: versions.ReasonNotAllowed, message: "internal module",
		},
		{
			name: "a selector that does not match restricts",
			setup: setup{kyma: keda(nil), settings: desired.Settings{RestrictedModules: []string{"keda"}}, templates: templates(mt("keda", "1.0.0")), metas: metas(modified(desiredtest.ReleaseMeta("keda", "regular=1.0.0"),
				func(m *v1beta2.ModuleReleaseMeta) {
					m.Spec.KymaSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"plan": "premium"}}
				}))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-1.0.0", reason: versions.ReasonNotAllowed, message: "restricted module not allowed for this Kyma",
		},
		{
			name: "a selector that matches permits",
			setup: setup{kyma: modified(keda(nil), func(k *v1beta2.Kyma) { k.Labels["plan"] = "premium" }), settings: desired.Settings{RestrictedModules: []string{"keda"}},
				templates: templates(mt("keda", "1.0.0")), metas: metas(modified(desiredtest.ReleaseMeta("keda", "regular=1.0.0"),
					func(m *v1beta2.ModuleReleaseMeta) {
						m.Spec.KymaSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"plan": "premium"}}
					}))},
			action: ActionCreate, channel: "regular", version: "1.0.0", template: "keda-1.0.0",
		},
		{
			name: "an empty selector selects no Kyma",
			setup: setup{kyma: keda(nil), settings: desired.Settings{RestrictedModules: []string{"keda"}}, templates: templates(mt("keda", "1.0.0")),
				metas: metas(modified(desiredtest.ReleaseMeta("keda", "regular=1.0.0"), func(m *v1beta2.ModuleReleaseMeta) { m.Spec.KymaSelector = &metav1.LabelSelector{} }))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-1.0.0", reason: versions.ReasonNotAllowed, message: "restricted module",
		},
		{
			name: "no Kyma may have a restricted module without selector",
			setup: setup{kyma: keda(nil), settings: desired.Settings{RestrictedModules: []string{"keda"}}, templates: templates(mt("keda", "1.0.0")),
				metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-1.0.0", reason: versions.ReasonNotAllowed, message: "restricted module",
		},
		{
			name: "a module that is no longer allowed is uninstalled",
			setup: setup{kyma: keda(nil), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}, templates: templates(
				modified(ct("keda", "regular", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Labels[shared.LabelInternal] = "true" }))},
			action: ActionRemove, channel: "regular", version: "1.0.0", template: "keda-regular", reason: versions.ReasonNotAllowed, message: "internal module",
		},
		// Controller.
		{
			name:   "an entry for another controller is not ours",
			setup:  setup{kyma: keda(func(m *v1beta2.Module) { m.Controller = "other" }), templates: templates(ct("keda", "regular", "1.0.0"))},
			action: ActionNone, channel: "regular", reason: versions.ReasonOtherController, message: "other",
		},
		{
			name: "a template of another controller is not ours",
			setup: setup{kyma: keda(nil), templates: templates(modified(ct("keda", "regular", "1.0.0"),
				func(m *v1beta2.ModuleTemplate) { m.Labels[shared.LabelControllerName] = "other" }))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-regular", reason: versions.ReasonOtherController, message: "other",
		},
		{
			name: "entry and template of our own controller",
			setup: setup{kyma: keda(func(m *v1beta2.Module) { m.Controller = "mine" }), settings: desired.Settings{ControllerName: "mine"}, templates: templates(
				modified(ct("keda", "regular", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Labels[shared.LabelControllerName] = "mine" }))},
			action: ActionCreate, channel: "regular", version: "1.0.0", template: "keda-regular",
		},
		// What is installed.
		{
			name:   "an upgrade follows the channel",
			setup:  setup{kyma: keda(nil), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}, templates: templates(ct("keda", "regular", "1.1.0"))},
			action: ActionUpdate, channel: "regular", version: "1.1.0", template: "keda-regular",
		},
		{
			name:   "a downgrade is refused",
			setup:  setup{kyma: keda(nil), manifests: []*v1beta2.Manifest{installed("keda", "2.0.0")}, templates: templates(ct("keda", "regular", "1.1.0"))},
			action: ActionKeep, channel: "regular", version: "1.1.0", template: "keda-regular", reason: versions.ReasonDowngrade,
			message: "module template update not allowed: ignore channel skew (from regular to regular), as a higher version (2.0.0) of the module was previously installed",
		},
		{
			name: "a change of channel to an older version is refused too",
			setup: setup{kyma: keda(func(m *v1beta2.Module) { m.Channel = "slow" }), manifests: []*v1beta2.Manifest{installed("keda", "2.0.0")},
				templates: templates(ct("keda", "slow", "1.9.9"))},
			action: ActionKeep, channel: "slow", version: "1.9.9", template: "keda-slow", reason: versions.ReasonDowngrade, message: "(from regular to slow), as a higher version (2.0.0)",
		},
		{
			name: "a downgrade by pinning names the versions",
			setup: setup{kyma: keda(func(m *v1beta2.Module) { m.Version = "1.0.0" }), manifests: []*v1beta2.Manifest{installed("keda", "2.0.0")},
				templates: templates(mt("keda", "1.0.0"))},
			action: ActionKeep, version: "1.0.0", template: "keda-1.0.0", reason: versions.ReasonDowngrade, message: "(from regular to 1.0.0)",
		},
		{
			name: "an annotation allows a Kyma to downgrade",
			setup: setup{kyma: modified(keda(nil), func(k *v1beta2.Kyma) { k.Annotations[desired.AnnotationAllowDowngrade] = "true" }),
				manifests: []*v1beta2.Manifest{installed("keda", "2.0.0")}, templates: templates(ct("keda", "regular", "1.1.0"))},
			action: ActionUpdate, channel: "regular", version: "1.1.0", template: "keda-regular",
		},
		{
			name:   "pre-releases of one version compare as equal",
			setup:  setup{kyma: keda(nil), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}, templates: templates(ct("keda", "regular", "1.0.0-rc1"))},
			action: ActionUpdate, channel: "regular", version: "1.0.0-rc1", template: "keda-regular",
		},
		{
			name:   "a module that is not found keeps its installation",
			setup:  setup{kyma: keda(nil), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}},
			action: ActionKeep, channel: "regular", reason: versions.ReasonNotFound, message: "no ModuleReleaseMeta found",
		},
		{
			name: "an ambiguous module keeps its installation",
			setup: setup{kyma: keda(nil), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}, templates: templates(ct("keda", "regular", "1.0.0"),
				modified(ct("keda", "regular", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Name = "twin" }))},
			action: ActionKeep, channel: "regular", reason: versions.ReasonAmbiguous, message: "ambiguous",
		},
		{
			name: "an invalid descriptor keeps the installation",
			setup: setup{kyma: keda(nil), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}, templates: templates(modified(ct("keda", "regular", "1.0.0"),
				func(m *v1beta2.ModuleTemplate) {
					m.Spec.Descriptor = &runtime.RawExtension{Raw: []byte(`{"component":{"name":"kyma-project.io/module/keda"}}`)}
				}))},
			action: ActionKeep, channel: "regular", template: "keda-regular", reason: versions.ReasonInvalidDescriptor, message: "ModuleTemplate kcp-system/keda-regular",
		},
		{
			name: "a component that changed under a module is refused",
			setup: setup{kyma: keda(nil), templates: templates(ct("keda", "regular", "1.0.0")), manifests: []*v1beta2.Manifest{modified(installed("keda", "1.0.0"),
				func(m *v1beta2.Manifest) {
					m.Name, m.Annotations[shared.AnnotationOCMComponentName] = "of-old", "old.example/keda"
				})}},
			action: ActionKeep, channel: "regular", version: "1.0.0", template: "keda-regular", reason: versions.ReasonComponentChanged, message: "from old.example/keda to kyma-project.io/module/keda",
		},
		{
			name: "a module does not move to another cluster",
			setup: setup{kyma: keda(nil), templates: templates(ct("keda", "regular", "1.0.0")), manifests: []*v1beta2.Manifest{modified(installed("keda", "1.0.0"),
				func(m *v1beta2.Manifest) { m.Spec.Remote, m.Status.InstalledRef = true, "sha256:1" })}},
			action: ActionKeep, channel: "regular", version: "1.0.0", template: "keda-regular", reason: versions.ReasonTargetChanged, message: "a different cluster",
		},
		{
			name:   "the plan waits for a Manifest that is being deleted",
			setup:  setup{kyma: keda(nil), templates: templates(ct("keda", "regular", "1.0.0")), manifests: []*v1beta2.Manifest{deleting(installed("keda", "1.0.0"))}},
			action: ActionWait, channel: "regular", version: "1.0.0", template: "keda-regular",
		},
		{
			name:   "the plan waits for the Manifest of an earlier Kyma of the same name",
			setup:  setup{kyma: keda(nil), templates: templates(ct("keda", "regular", "1.0.0")), foreign: []*v1beta2.Manifest{installed("keda", "1.0.0")}},
			action: ActionWait, channel: "regular", version: "1.0.0", template: "keda-regular",
		},
		{
			name: "a Manifest to be left unchanged is not touched",
			setup: setup{kyma: keda(nil), templates: templates(ct("keda", "regular", "2.0.0")), manifests: []*v1beta2.Manifest{modified(installed("keda", "1.0.0"),
				func(m *v1beta2.Manifest) { m.Labels[shared.LabelSkipReconciliation] = "true" })}},
			action: ActionKeep, channel: "regular", version: "2.0.0", template: "keda-regular",
		},
		// Unmanaged.
		{
			name: "an unmanaged module is marked, and stays in its version",
			setup: setup{kyma: keda(func(m *v1beta2.Module) { m.Managed = new(bool) }), templates: templates(ct("keda", "regular", "2.0.0")),
				manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}},
			action: ActionUpdate, channel: "regular", version: "2.0.0", template: "keda-regular",
		},
		{
			name:   "an unmanaged module that was never installed is not installed",
			setup:  setup{kyma: keda(func(m *v1beta2.Module) { m.Managed = new(bool) }), templates: templates(ct("keda", "regular", "2.0.0"))},
			action: ActionNone, channel: "regular", version: "2.0.0", template: "keda-regular",
		},
		// Target.
		{
			name:   "without synchronization no module goes into the control plane by default",
			setup:  setup{kyma: modified(keda(nil), func(k *v1beta2.Kyma) { k.Spec.Sync = &v1beta2.Sync{} }), settings: desired.Settings{Mode: desired.ModeControlPlane}, templates: templates(ct("keda", "regular", "1.0.0"))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-regular", reason: desired.ReasonControlPlaneTarget, message: "not allowed here",
		},
		{
			name: "the strategy local-client brings no module into the control plane by default",
			setup: setup{kyma: modified(desiredtest.Accepted(keda(nil), v1beta2.SyncGenerationExplicit, "regular"), func(k *v1beta2.Kyma) {
				on := true
				k.Spec.Sync = &v1beta2.Sync{Enabled: &on, Strategy: v1beta2.SyncStrategyLocalClient, Namespace: k.Status.Remote.Namespace}
			}), settings: desired.Settings{Mode: desired.ModeControlPlane}, templates: templates(ct("keda", "regular", "1.0.0"))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-regular", reason: desired.ReasonControlPlaneTarget, message: "strategy local-client",
		},
		{
			name: "a module for the remote cluster never goes into the control plane instead",
			setup: setup{kyma: modified(keda(nil), func(k *v1beta2.Kyma) { k.Spec.Sync = &v1beta2.Sync{} }),
				settings: desired.Settings{Mode: desired.ModeControlPlane, AllowControlPlaneModules: true}, templates: templates(
					modified(ct("keda", "regular", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Spec.Target = v1beta2.TargetRemote }))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-regular", reason: versions.ReasonSyncDisabled, message: "synchronization is switched off",
		},
		{
			name: "the flag allows a module in the control plane",
			setup: setup{kyma: modified(keda(nil), func(k *v1beta2.Kyma) { k.Spec.Sync = &v1beta2.Sync{} }),
				settings: desired.Settings{Mode: desired.ModeControlPlane, AllowControlPlaneModules: true}, templates: templates(ct("keda", "regular", "1.0.0"))},
			action: ActionCreate, channel: "regular", version: "1.0.0", template: "keda-regular",
		},
		// Descriptors.
		{
			name:   "template and descriptor must agree on the version",
			setup:  setup{kyma: keda(nil), templates: templates(modified(ct("keda", "regular", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Spec.Version = "1.0.1" }))},
			action: ActionNone, channel: "regular", version: "1.0.1", template: "keda-regular", reason: versions.ReasonInvalidDescriptor, message: "has version 1.0.1, but its component",
		},
		{
			name:   "an empty descriptor without release meta has no component",
			setup:  setup{kyma: keda(nil), templates: templates(modified(ct("keda", "regular", "1.0.0"), func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = nil }))},
			action: ActionNone, channel: "regular", template: "keda-regular", reason: versions.ReasonInvalidDescriptor, message: "no ModuleReleaseMeta says which component",
		},
		{
			name: "a registry that does not answer keeps a module that is installed in that version",
			setup: setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0")), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0")),
				manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")},
				describe: func(*v1beta2.ModuleTemplate, string, string) (*versions.Descriptor, error) {
					return nil, errors.New("connection refused")
				}},
			action: ActionKeep, channel: "regular", version: "1.0.0", template: "keda-1.0.0",
		},
		{
			name: "a registry that does not answer fails a new module",
			setup: setup{kyma: keda(nil), templates: templates(mt("keda", "1.0.0")), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0")),
				describe: func(*v1beta2.ModuleTemplate, string, string) (*versions.Descriptor, error) {
					return nil, errors.New("connection refused")
				}},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-1.0.0", reason: versions.ReasonDescriptorMissing, message: "connection refused",
		},
		{
			name:   "the name of the Kyma must be usable as a label",
			setup:  setup{kyma: modified(keda(nil), func(k *v1beta2.Kyma) { k.Name = strings.Repeat("k", 64) }), templates: templates(ct("keda", "regular", "1.0.0"))},
			action: ActionNone, channel: "regular", version: "1.0.0", template: "keda-regular", reason: versions.ReasonKymaName, message: "63",
		},
		// Templates user-provided in the remote cluster, as they are accepted.
		{
			name:   "a reference means the template that was accepted, whatever its channel",
			setup:  setup{settings: synced, kyma: remotely(userProvided), templates: templates(imported("keda", "3.0.0", "mine"), ct("keda", "regular", "1.0.0"))},
			action: ActionCreate, version: "3.0.0", template: "imported",
		},
		{
			name:   "a reference to an unusable template does not fall back",
			setup:  setup{settings: synced, kyma: remotely(userProvided), templates: templates(ct("keda", "regular", "1.0.0"))},
			action: ActionNone, channel: "regular", reason: versions.ReasonTemplateNotFound, message: "no usable ModuleTemplate mine found in the remote cluster",
		},
		{
			name:   "a reference to a synced copy means the control plane's template",
			setup:  setup{settings: synced, kyma: remotely(func(m *v1beta2.Module) { m.RemoteModuleTemplateRef = "keda-regular" }), templates: templates(ct("keda", "regular", "1.0.0"))},
			action: ActionCreate, channel: "regular", version: "1.0.0", template: "keda-regular",
		},
		{
			name:   "a name unknown to the control plane may mean a template of the remote cluster",
			setup:  setup{settings: synced, kyma: remotely(nil), templates: templates(imported("keda", "3.0.0", "keda"))},
			action: ActionCreate, version: "3.0.0", template: "imported",
		},
		{
			name:   "a template of the remote cluster never stands in for one of the control plane",
			setup:  setup{settings: synced, kyma: remotely(nil), templates: templates(imported("keda", "3.0.0", "keda"), ct("keda", "regular", "1.0.0"))},
			action: ActionCreate, channel: "regular", version: "1.0.0", template: "keda-regular",
		},
		{
			name: "another Kyma cannot use a template of this Kyma's remote cluster",
			setup: setup{settings: synced, kyma: remotely(userProvided), templates: templates(modified(imported("keda", "3.0.0", "mine"), func(m *v1beta2.ModuleTemplate) {
				m.OwnerReferences[0].UID = "another"
			}))},
			action: ActionNone, channel: "regular", reason: versions.ReasonTemplateNotFound,
		},
		{
			name:   "a pinned version must match the referenced template",
			setup:  setup{settings: synced, kyma: remotely(func(m *v1beta2.Module) { userProvided(m); m.Version = "2.0.0" }), templates: templates(imported("keda", "3.0.0", "mine"))},
			action: ActionNone, version: "3.0.0", template: "imported", reason: versions.ReasonTemplateNotFound, message: "does not have version 2.0.0",
		},
		// Signatures.
		{
			name: "a refused signature keeps the installation",
			setup: setup{kyma: keda(nil), templates: templates(ct("keda", "regular", "2.0.0")), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")},
				describe: func(*v1beta2.ModuleTemplate, string, string) (*versions.Descriptor, error) {
					return nil, fmt.Errorf("%w: no Secret has the key", signature.ErrSignature)
				}},
			action: ActionKeep, channel: "regular", version: "2.0.0", template: "keda-regular", reason: versions.ReasonSignature, message: "no Secret has the key",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plans, left := test.setup.plan(t)
			require.Len(t, plans, 1)
			plan := plans[test.setup.kyma.Spec.Modules[0].Name]
			if test.reason == "" {
				require.Nil(t, plan.Refusal)
			} else {
				require.NotNil(t, plan.Refusal)
				require.Equal(t, test.reason, plan.Refusal.Reason, plan.Refusal.Message)
				require.Contains(t, plan.Refusal.Message, test.message)
			}
			require.Equal(t, test.action, plan.Action)
			require.Equal(t, test.version, plan.Version)
			require.Equal(t, test.channel, plan.Channel)
			if test.template == "" {
				require.Nil(t, plan.Template)
			} else {
				require.Equal(t, test.template, plan.Template.Metadata.Name)
			}
			require.Empty(t, left, "a listed module is never left over")
		})
	}
}

func TestAManifestIsUnwantedOnlyIfItsEntryIsCertainlyGone(t *testing.T) {
	keda, btp := installed("keda", "1.0.0"), installed("btp", "1.0.0")
	s := setup{kyma: desiredtest.Kyma("keda"), manifests: []*v1beta2.Manifest{keda, btp}}
	plans, left := s.plan(t)
	require.Equal(t, []string{btp.Name}, left, "btp is no longer listed; keda is, although its template is gone")
	require.Equal(t, ActionKeep, plans["keda"].Action)

	duplicate := installed("keda", "0.9.0")
	duplicate.Name = "of-an-earlier-component"
	s = setup{kyma: desiredtest.Kyma("keda"), manifests: []*v1beta2.Manifest{keda, duplicate}}
	_, left = s.plan(t)
	require.Empty(t, left, "a second Manifest of a listed module is left to a person")

	mandatory := installed("warden", "1.0.0")
	mandatory.Labels[shared.LabelMandatoryModule] = "true"
	others := installed("istio", "1.0.0")
	others.Labels[shared.LabelManagedBy] = "other"
	s = setup{kyma: desiredtest.Kyma(), manifests: []*v1beta2.Manifest{mandatory, others}}
	_, left = s.plan(t)
	require.Empty(t, left, "mandatory modules and modules of other instances do not depend on entries")

	s = setup{kyma: desiredtest.Kyma(), settings: desired.Settings{Mode: desired.ModeControlPlane}, manifests: []*v1beta2.Manifest{keda}}
	plans, left = s.plan(t)
	require.Empty(t, plans)
	require.Empty(t, left, "the remote Kyma was never accepted, so nothing is known to be gone")
}

func TestARenamedEntryAdoptsTheManifestOfItsComponent(t *testing.T) {
	keda := installed("keda", "1.0.0")
	s := setup{
		kyma: desiredtest.Kyma("kyma-project.io/module/keda"), manifests: []*v1beta2.Manifest{keda},
		templates: []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("keda", "regular", "1.0.0")},
	}
	plans, left := s.plan(t)
	plan := plans["kyma-project.io/module/keda"]
	require.Empty(t, left)
	require.Equal(t, ActionUpdate, plan.Action)
	require.Equal(t, keda.Name, plan.Manifest.Name)
	require.Equal(t, "kyma-project.io/module/keda", desired.EntryOf(plan.Manifest))
	require.Equal(t, "keda", plan.Manifest.Labels[shared.LabelModuleName])
}

func TestAnUnresolvableEntryByComponentNameKeepsTheManifest(t *testing.T) {
	s := setup{kyma: desiredtest.Kyma("kyma-project.io/module/keda"), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}}
	_, left := s.plan(t)
	require.Empty(t, left)
}

// An entry of which nothing is known may be the new name of a module with a missing entry.
func TestAnUnknownEntryKeepsAManifestThatItMayMean(t *testing.T) {
	s := setup{kyma: desiredtest.Kyma("typo", "btp"), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}}
	s.templates = []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("btp", "regular", "1.0.0")}
	plans, left := s.plan(t)
	require.Equal(t, versions.ReasonNotFound, plans["typo"].Refusal.Reason)
	require.Empty(t, left)

	s.kyma = desiredtest.Kyma("btp")
	_, left = s.plan(t)
	require.Len(t, left, 1, "once the entry is fixed or gone, the unlisted module is removed")

	s.kyma = desiredtest.Kyma("btp")
	s.kyma.Spec.Modules[0].Channel = "unknown"
	plans, left = s.plan(t)
	require.Equal(t, versions.ReasonNoVersionForChannel, plans["btp"].Refusal.Reason)
	require.Len(t, left, 1, "an entry with a known component means no other component")
}

func TestAnUpgradeThatNeedsADowntimeWaitsForItsWindow(t *testing.T) {
	next := time.Date(2030, 1, 5, 2, 0, 0, 0, time.UTC)
	closed := func() Wait { return Wait{Next: next} }
	template := desiredtest.ChannelTemplate("keda", "regular", "2.0.0")
	template.Spec.RequiresDowntime = true
	upgrade := func() setup {
		return setup{
			kyma: desiredtest.Kyma("keda"), templates: []*v1beta2.ModuleTemplate{template},
			manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}, window: closed,
		}
	}
	s := upgrade()
	plans, _ := s.plan(t)
	require.Equal(t, ActionKeep, plans["keda"].Action)
	require.Equal(t, "waiting for next maintenance window to update module version", plans["keda"].Window.Message())
	require.Equal(t, "the next maintenance window begins at 2030-01-05T02:00:00Z", plans["keda"].Window.Hint())

	for name, change := range map[string]func(*setup){
		"in a window":               func(s *setup) { s.window = func() Wait { return Wait{Open: true} } },
		"without a policy":          func(s *setup) { s.window = nil },
		"if the Kyma skips windows": func(s *setup) { s.kyma.Spec.SkipMaintenanceWindows = true },
		"if no downtime is needed": func(s *setup) {
			s.templates = []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("keda", "regular", "2.0.0")}
		},
		"if the version is installed": func(s *setup) { s.manifests[0].Spec.Version = "2.0.0" },
	} {
		t.Run("not "+name, func(t *testing.T) {
			s := upgrade()
			change(&s)
			plans, _ := s.plan(t)
			require.Equal(t, ActionUpdate, plans["keda"].Action)
			require.Nil(t, plans["keda"].Window)
		})
	}
	s = upgrade()
	s.manifests = nil
	plans, _ = s.plan(t)
	require.Equal(t, ActionCreate, plans["keda"].Action, "a first installation does not wait")
}

func TestAComponentUnderTwoNames(t *testing.T) {
	templates := []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("keda", "regular", "1.0.0")}
	twice := func() *v1beta2.Kyma { return desiredtest.Kyma("keda", "kcp-system/keda-regular") }

	plans, _ := (&setup{kyma: twice(), templates: templates}).plan(t)
	require.Equal(t, versions.ReasonDuplicateComponent, plans["keda"].Refusal.Reason)
	require.Equal(t, versions.ReasonDuplicateComponent, plans["kcp-system/keda-regular"].Refusal.Reason)

	plans, left := (&setup{kyma: twice(), templates: templates, manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")}}).plan(t)
	require.Nil(t, plans["keda"].Refusal, "the entry that has a Manifest stays")
	require.Equal(t, versions.ReasonDuplicateComponent, plans["kcp-system/keda-regular"].Refusal.Reason)
	require.Empty(t, left)

	orphan := installed("old-name", "1.0.0")
	orphan.Annotations[shared.AnnotationOCMComponentName] = desiredtest.Component("keda")
	plans, left = (&setup{kyma: twice(), templates: templates, manifests: []*v1beta2.Manifest{orphan}}).plan(t)
	require.Equal(t, ActionNone, plans["keda"].Action)
	require.Empty(t, left, "it is unclear which of the two entries adopts the Manifest, so it stays")
}

func TestManifestNamesThatCollideAreRefused(t *testing.T) {
	kyma := desiredtest.Kyma("keda", "keda-b")
	kyma.Name = strings.Repeat("k", 62)
	s := setup{kyma: kyma, templates: []*v1beta2.ModuleTemplate{
		desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), desiredtest.ChannelTemplate("keda-b", "regular", "1.0.0"),
	}}
	plans, _ := s.plan(t)
	require.Equal(t, versions.ReasonNameCollision, plans["keda"].Refusal.Reason)
	require.Equal(t, versions.ReasonNameCollision, plans["keda-b"].Refusal.Reason)

	likeAgent := desiredtest.ChannelTemplate(shared.AgentName, "regular", "1.0.0")
	likeAgent.Spec.Descriptor = desiredtest.Descriptor(shared.AgentComponent, "1.0.0")
	plans, _ = (&setup{kyma: desiredtest.Kyma(shared.AgentName), templates: []*v1beta2.ModuleTemplate{likeAgent}}).plan(t)
	require.Equal(t, versions.ReasonNameCollision, plans[shared.AgentName].Refusal.Reason, "the module would be mistaken for the agent")
}

func TestTheSamePlanAgainChangesNothing(t *testing.T) {
	s := setup{kyma: desiredtest.Kyma("keda"), templates: []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("keda", "regular", "1.0.0")}}
	plans, _ := s.plan(t)
	s.manifests = []*v1beta2.Manifest{plans["keda"].Manifest}
	plans, left := s.plan(t)
	require.Equal(t, ActionKeep, plans["keda"].Action)
	require.Empty(t, left)
}

// The order of lists, and duplicates in them, must not change the plan.
func TestThePlanDoesNotDependOnOrder(t *testing.T) {
	var modules []string
	s := setup{}
	for i := range 12 {
		module := "module-" + string(rune('a'+i))
		modules = append(modules, module)
		switch i % 4 {
		case 0:
			s.templates = append(s.templates, desiredtest.ChannelTemplate(module, "regular", "1.0.0"))
		case 1:
			s.templates = append(s.templates, desiredtest.Template(module, "1.0.0"), desiredtest.Template(module, "2.0.0"))
			s.metas = append(s.metas, desiredtest.ReleaseMeta(module, "regular=1.0.0"))
		case 2:
			duplicate := desiredtest.ChannelTemplate(module, "regular", "1.0.0")
			duplicate.Name += "-twin"
			s.templates = append(s.templates, desiredtest.ChannelTemplate(module, "regular", "1.0.0"), duplicate)
		}
		s.manifests = append(s.manifests, installed(module, "1.0.0"))
	}
	s.manifests = append(s.manifests, installed("gone", "1.0.0"))
	modules = append(modules, "kyma-project.io/module/module-a")

	outcome := func() string {
		s.kyma = desiredtest.Kyma(modules...)
		plans, left := s.plan(t)
		lines := []string{fmt.Sprint(left)}
		for _, module := range modules {
			plan := plans[module]
			lines = append(lines, fmt.Sprint(module, plan.Action, plan.Version, plan.Refusal != nil, plan.Existing != nil))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	want := outcome()
	random := rand.New(rand.NewSource(1))
	for range 50 {
		random.Shuffle(len(modules), func(i, j int) { modules[i], modules[j] = modules[j], modules[i] })
		random.Shuffle(len(s.templates), func(i, j int) { s.templates[i], s.templates[j] = s.templates[j], s.templates[i] })
		random.Shuffle(len(s.manifests), func(i, j int) { s.manifests[i], s.manifests[j] = s.manifests[j], s.manifests[i] })
		require.Equal(t, want, outcome())
	}
}

func TestARejectedFetchIsFinal(t *testing.T) {
	s := setup{
		kyma: desiredtest.Kyma("keda"), templates: []*v1beta2.ModuleTemplate{desiredtest.Template("keda", "1.0.0")},
		metas: []*v1beta2.ModuleReleaseMeta{desiredtest.ReleaseMeta("keda", "regular=1.0.0")},
		describe: func(*v1beta2.ModuleTemplate, string, string) (*versions.Descriptor, error) {
			return nil, fault.New(fault.Rejected, artifacts.ReasonInvalidDescriptor, "it is a Helm chart")
		},
	}
	plans, _ := s.plan(t)
	require.Equal(t, versions.ReasonDescriptorMissing, plans["keda"].Refusal.Reason)
	require.Equal(t, hint.For(artifacts.ReasonInvalidDescriptor), plans["keda"].Refusal.Hint, "the hint is not about access to the registry")
	require.False(t, plans["keda"].Refusal.Transient)
}

func TestAKymaHasNoMoreModulesThanItsStatusHasRoomFor(t *testing.T) {
	var modules []string
	s := &setup{}
	add := func(name string) {
		modules = append(modules, name)
		s.templates = append(s.templates, desiredtest.Template(name, "1.0.0"))
		s.metas = append(s.metas, desiredtest.ReleaseMeta(name, "regular=1.0.0"))
	}
	for i := range MaxManifests {
		name := fmt.Sprintf("module-%03d", i)
		s.manifests = append(s.manifests, installed(name, "1.0.0"))
		if i > 1 {
			add(name)
		}
	}
	add("another")
	s.kyma = desiredtest.Kyma(modules...)
	plans, unwanted := s.plan(t)
	require.Len(t, unwanted, 2)
	require.Equal(t, versions.ReasonTooManyModules, plans["another"].Refusal.Reason, "modules that are being removed count")
	require.Equal(t, "the Kyma has 256 modules, including mandatory ones and those that are being removed, so there is no room for module another: remove another one first", plans["another"].Refusal.Message)
	require.NotEmpty(t, hint.For(versions.ReasonTooManyModules))
	require.Equal(t, ActionNone, plans["another"].Action)
	for _, module := range modules[:len(modules)-1] {
		require.Nil(t, plans[module].Refusal, "installed modules stay")
		require.NotEqual(t, ActionNone, plans[module].Action)
	}
	s.manifests = s.manifests[1:]
	plans, _ = s.plan(t)
	require.Equal(t, ActionCreate, plans["another"].Action, "there is room once a module is gone")
}

func TestADefaultCRThatIsTooLargeIsRefused(t *testing.T) {
	template := desiredtest.Template("keda", "1.0.0")
	template.Spec.Data = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"a/v1","kind":"K","metadata":{"name":"n"},"spec":"` + strings.Repeat("x", 256<<10) + `"}`)}
	s := &setup{kyma: desiredtest.Kyma("keda"), templates: []*v1beta2.ModuleTemplate{template}, metas: []*v1beta2.ModuleReleaseMeta{desiredtest.ReleaseMeta("keda", "regular=1.0.0")}}
	plans, _ := s.plan(t)
	require.Equal(t, versions.ReasonInvalidDefaultCR, plans["keda"].Refusal.Reason)
	require.Contains(t, plans["keda"].Refusal.Message, "bytes; the limit is 262144")
	require.NotEmpty(t, descriptor.ValidateTemplate(template), "admission refuses it before")
}

func TestTheSizeOfARefusalIsLimited(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	refusal := versions.Refuse("Reason", "%s", long).WithHint("%s", long)
	require.LessOrEqual(t, len(refusal.Message), fault.MaxMessage)
	require.LessOrEqual(t, len(refusal.Hint), fault.MaxMessage)
}
