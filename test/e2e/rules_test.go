package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// refusedModule is how a module that does not get what it asks for is shown.
type refusedModule struct {
	state           shared.State
	message, reason string
}

// Every rule that refuses is shown in the module's status, the condition Modules, and an Event with a
// reason of its own; and keeps no other module from going on.
func TestRefusedModulesHaveAReasonAndOthersAreInstalled(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.PushMinimal("steady")
	s.PushModule(harness.MinimalModule{Name: "early", Channels: "regular", Config: "beta: true"})
	s.PushModule(harness.MinimalModule{Name: "choosy", Version: "1.0.0"})
	s.PushModule(harness.MinimalModule{Name: "choosy", Version: "1.1.0", Channels: "fast, regular=1.0.0"})
	for _, name := range []string{"twofold-a", "twofold-b"} {
		createEmpty(s, name, "twofold", func(template *v1beta2.ModuleTemplate) { template.Spec.Channel = "regular" })
	}
	createEmpty(s, "foreign", "foreign", func(template *v1beta2.ModuleTemplate) {
		template.Spec.Channel = "regular"
		template.Labels[shared.LabelControllerName] = "somebody-else"
	})
	require.NoError(t, s.ControlPlane.Create(t.Context(), &v1beta2.ModuleReleaseMeta{
		ObjectMeta: metav1.ObjectMeta{Name: "always", Namespace: harness.ControlPlaneNamespace},
		Spec: v1beta2.ModuleReleaseMetaSpec{
			ModuleName: "always", OCMComponentName: "kyma-project.io/module/always", Mandatory: &v1beta2.MandatoryVersion{Version: "1.0.0"},
		},
	}))
	s.Instance.Start()

	kyma := harness.NewKyma("ruled", "steady", "choosy", "twofold", "foreign", "early", "unheard-of", "always")
	kyma.Spec.Modules[1].Channel = "fast"
	s.Create(kyma)
	refuses(t, s, "ruled", map[string]refusedModule{
		"twofold":    {shared.StateError, "module twofold is ambiguous: ModuleTemplates kcp-system/twofold-a, kcp-system/twofold-b all match it", "ModuleAmbiguous"},
		"foreign":    {shared.StateWarning, "ModuleTemplate kcp-system/foreign is served by the controller somebody-else", "OtherController"},
		"early":      {shared.StateError, "module template not allowed: beta module", "ModuleNotAllowed"},
		"unheard-of": {shared.StateError, "no ModuleReleaseMeta found", "ModuleNotFound"},
		"always":     {shared.StateError, "module always is mandatory: every cluster has it, and it cannot be listed", "ModuleMandatory"},
	})
	s.ReadyAmongOthers("ruled", "steady", "1.0.0")
	s.ReadyAmongOthers("ruled", "choosy", "1.1.0")

	t.Run("a channel that the release meta does not have is refused with those that it has", func(t *testing.T) {
		s.EditEntry("choosy", func(module *v1beta2.Module) { module.Channel = "slow" })
		refuses(t, s, "ruled", map[string]refusedModule{
			"choosy": {shared.StateError, "no versions found for channel: slow in module choosy", "NoVersionForChannel"},
		})
		require.Equal(t, "1.1.0", s.Module("ruled", "choosy").Version, "what is installed stays")
	})
	t.Run("a downgrade is refused with a Warning, and what is installed stays managed", func(t *testing.T) {
		s.EditEntry("choosy", func(module *v1beta2.Module) { module.Channel = "regular" })
		refuses(t, s, "ruled", map[string]refusedModule{
			"choosy": {shared.StateWarning, "module template update not allowed: ignore channel skew (from fast to regular), as a higher version (1.1.0) of the module was previously installed", "DowngradeRefused"},
		})
		module := s.Module("ruled", "choosy")
		require.Equal(t, "1.1.0", module.Version)
		require.Equal(t, "fast", module.Channel)
		require.NotNil(t, module.Manifest)
		require.Equal(t, "1.1.0", s.MinimalVersion(harness.RemoteNamespace, "choosy"))
	})
	t.Run("a downgrade is made where the Kyma allows it", func(t *testing.T) {
		harness.Edit(t, s.ControlPlane, s.Kyma("ruled"), func(k *v1beta2.Kyma) {
			metav1.SetMetaDataAnnotation(&k.ObjectMeta, "operator.kyma-project.io/allow-downgrade", "true")
		})
		s.ReadyAmongOthers("ruled", "choosy", "1.0.0")
		require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "choosy"))
	})
	t.Run("a beta module is installed in a beta Kyma, and uninstalled when it is none any more", func(t *testing.T) {
		harness.Edit(t, s.ControlPlane, s.Kyma("ruled"), func(k *v1beta2.Kyma) { metav1.SetMetaDataLabel(&k.ObjectMeta, shared.LabelBeta, "true") })
		s.ReadyAmongOthers("ruled", "early", "1.0.0")
		harness.Edit(t, s.ControlPlane, s.Kyma("ruled"), func(k *v1beta2.Kyma) { delete(k.Labels, shared.LabelBeta) })
		s.Eventually("it is uninstalled", 2*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.MinimalVersion(harness.RemoteNamespace, "early"))
			module := s.Module("ruled", "early")
			assert.Equal(c, shared.StateError, module.State)
			assert.Equal(c, "module template not allowed: beta module", module.Message)
			assert.Nil(c, module.Manifest)
		})
	})
	t.Run("channel and version together are refused at once", func(t *testing.T) {
		both := harness.NewKyma("both", "steady")
		both.Spec.Modules[0].Channel, both.Spec.Modules[0].Version = "regular", "1.0.0"
		err := s.ControlPlane.Create(t.Context(), both)
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		require.ErrorContains(t, err, "channel and version exclude each other")
	})
}

// refuses waits until the Kyma has these modules, states and Events.
func refuses(t *testing.T, s *harness.Environment, name string, want map[string]refusedModule) {
	t.Helper()
	s.Eventually("modules of Kyma "+name+" are refused", 2*time.Minute, func(c *assert.CollectT) {
		kyma := s.Kyma(name)
		modules := harness.ModulesByName(kyma.Status.Modules)
		reasons := s.Warnings(kyma)
		for module, refused := range want {
			assert.Equal(c, refused.state, modules[module].State, module)
			assert.Equal(c, refused.message, modules[module].Message, module)
			assert.Contains(c, reasons[refused.reason], "module "+module+": "+refused.message)
		}
		assert.True(c, meta.IsStatusConditionFalse(kyma.Status.Conditions, string(shared.ConditionModules)))
	})
}

// createEmpty creates a ModuleTemplate that nothing can be installed from, for modules that are refused before.
func createEmpty(s *harness.Environment, name, module string, change func(*v1beta2.ModuleTemplate)) {
	s.T.Helper()
	template := &v1beta2.ModuleTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ControlPlaneNamespace, Labels: map[string]string{}},
		Spec:       v1beta2.ModuleTemplateSpec{ModuleName: module, Descriptor: &runtime.RawExtension{Raw: []byte("{}")}},
	}
	change(template)
	require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), template))
}
