package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// refusedModule is how a module that does not get what it asks for is shown.
type refusedModule struct {
	state           shared.State
	message, reason string
}

// Every rule says itself where users look: in the module's status, the condition Modules, and an Event with a
// reason of its own; and keeps no other module from going on.
func TestModulesThatAreRefusedSayWhyAndOthersGoOn(t *testing.T) {
	s := newStage(t)
	s.pushTiny("steady")
	s.pushOne(tiny{name: "early", channels: "regular", config: "beta: true"})
	s.pushOne(tiny{name: "choosy", version: "1.0.0"})
	s.pushOne(tiny{name: "choosy", version: "1.1.0", channels: "fast, regular=1.0.0"})
	for _, name := range []string{"twofold-a", "twofold-b"} {
		s.announceEmpty(name, "twofold", func(template *v1beta2.ModuleTemplate) { template.Spec.Channel = "regular" })
	}
	s.announceEmpty("foreign", "foreign", func(template *v1beta2.ModuleTemplate) {
		template.Spec.Channel = "regular"
		template.Labels[shared.LabelControllerName] = "somebody-else"
	})
	require.NoError(t, s.controlPlane.Create(t.Context(), &v1beta2.ModuleReleaseMeta{
		ObjectMeta: metav1.ObjectMeta{Name: "always", Namespace: controlPlaneNamespace},
		Spec: v1beta2.ModuleReleaseMetaSpec{
			ModuleName: "always", OCMComponentName: "kyma-project.io/module/always", Mandatory: &v1beta2.MandatoryVersion{Version: "1.0.0"},
		},
	}))
	s.instance.start()

	kyma := newKyma("ruled", "steady", "choosy", "twofold", "foreign", "early", "unheard-of", "always")
	kyma.Spec.Modules[1].Channel = "fast"
	s.create(kyma)
	s.refuses(t, "ruled", map[string]refusedModule{
		"twofold":    {shared.StateError, "module twofold is ambiguous: ModuleTemplates kcp-system/twofold-a, kcp-system/twofold-b match it", "ModuleAmbiguous"},
		"foreign":    {shared.StateWarning, "ModuleTemplate kcp-system/foreign is served by the controller somebody-else", "OtherController"},
		"early":      {shared.StateError, "module template not allowed: beta module", "ModuleNotAllowed"},
		"unheard-of": {shared.StateError, "no ModuleReleaseMeta found", "ModuleNotFound"},
		"always":     {shared.StateError, "module always is mandatory: every cluster has it, and it cannot be listed", "ModuleMandatory"},
	})
	s.readyAmongOthers("ruled", "steady", "1.0.0")
	s.readyAmongOthers("ruled", "choosy", "1.1.0")

	t.Run("a channel that the release meta does not have is refused with those that it has", func(t *testing.T) {
		s.editEntry("choosy", func(module *v1beta2.Module) { module.Channel = "slow" })
		s.refuses(t, "ruled", map[string]refusedModule{
			"choosy": {shared.StateError, "no versions found for channel: slow in module choosy", "NoVersionForChannel"},
		})
		require.Equal(t, "1.1.0", s.module("ruled", "choosy").Version, "what is installed stays")
	})
	t.Run("a downgrade is refused with a Warning, and what is installed stays managed", func(t *testing.T) {
		s.editEntry("choosy", func(module *v1beta2.Module) { module.Channel = "regular" })
		s.refuses(t, "ruled", map[string]refusedModule{
			"choosy": {shared.StateWarning, "module template update not allowed: ignore channel skew (from fast to regular), as a higher version (1.1.0) of the module was previously installed", "DowngradeRefused"},
		})
		module := s.module("ruled", "choosy")
		require.Equal(t, "1.1.0", module.Version)
		require.Equal(t, "fast", module.Channel)
		require.NotNil(t, module.Manifest)
		require.Equal(t, "1.1.0", s.tinyVersion(remoteNamespace, "choosy"))
	})
	t.Run("a downgrade is made where the Kyma allows it", func(t *testing.T) {
		edit(t, s.controlPlane, s.kyma("ruled"), func(k *v1beta2.Kyma) {
			metav1.SetMetaDataAnnotation(&k.ObjectMeta, "operator.kyma-project.io/allow-downgrade", "true")
		})
		s.readyAmongOthers("ruled", "choosy", "1.0.0")
		require.Equal(t, "1.0.0", s.tinyVersion(remoteNamespace, "choosy"))
	})
	t.Run("a beta module is installed in a beta Kyma, and uninstalled when it is none any more", func(t *testing.T) {
		edit(t, s.controlPlane, s.kyma("ruled"), func(k *v1beta2.Kyma) { metav1.SetMetaDataLabel(&k.ObjectMeta, shared.LabelBeta, "true") })
		s.readyAmongOthers("ruled", "early", "1.0.0")
		edit(t, s.controlPlane, s.kyma("ruled"), func(k *v1beta2.Kyma) { delete(k.Labels, shared.LabelBeta) })
		s.eventually("it is uninstalled", 2*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.tinyVersion(remoteNamespace, "early"))
			module := s.module("ruled", "early")
			assert.Equal(c, shared.StateError, module.State)
			assert.Equal(c, "module template not allowed: beta module", module.Message)
			assert.Nil(c, module.Manifest)
		})
	})
	t.Run("channel and version together are refused at once", func(t *testing.T) {
		both := newKyma("both", "steady")
		both.Spec.Modules[0].Channel, both.Spec.Modules[0].Version = "regular", "1.0.0"
		err := s.controlPlane.Create(t.Context(), both)
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		require.ErrorContains(t, err, "channel and version exclude each other")
	})
}

// refuses waits until the Kyma shows these modules so, and tells people by Events.
func (s *stage) refuses(t *testing.T, name string, want map[string]refusedModule) {
	t.Helper()
	s.eventually("modules of Kyma "+name+" are refused", 2*time.Minute, func(c *assert.CollectT) {
		kyma := s.kyma(name)
		modules := byName(kyma.Status.Modules)
		reasons := s.warnings(kyma)
		for module, refused := range want {
			assert.Equal(c, refused.state, modules[module].State, module)
			assert.Equal(c, refused.message, modules[module].Message, module)
			assert.Contains(c, reasons[refused.reason], "module "+module+": "+refused.message)
		}
		assert.True(c, meta.IsStatusConditionFalse(kyma.Status.Conditions, string(shared.ConditionModules)))
	})
}

// warnings are the messages of the Events on an object, by reason.
func (s *stage) warnings(object client.Object) map[string][]string {
	s.t.Helper()
	var events corev1.EventList
	require.NoError(s.t, s.controlPlane.List(ctx(s.t), &events, client.InNamespace(object.GetNamespace())))
	messages := map[string][]string{}
	for _, event := range events.Items {
		if event.InvolvedObject.UID == object.GetUID() && event.Type == corev1.EventTypeWarning {
			messages[event.Reason] = append(messages[event.Reason], event.Message)
		}
	}
	return messages
}

// warns waits until an Event on an object warns so: Events are written beside what they tell of.
func (s *stage) warns(object client.Object, reason, message string) {
	s.t.Helper()
	s.eventually("an Event warns: "+message, 2*time.Minute, func(c *assert.CollectT) {
		assert.Contains(c, strings.Join(s.warnings(object)[reason], "\n"), message)
	})
}

// module is how the Kyma's status shows a module.
func (s *stage) module(kyma, module string) v1beta2.ModuleStatus {
	s.t.Helper()
	return byName(s.kyma(kyma).Status.Modules)[module]
}

// readyAmongOthers waits until one module is Ready, whatever the others are.
func (s *stage) readyAmongOthers(kyma, module, version string) {
	s.t.Helper()
	s.eventually("module "+module+" becomes Ready in version "+version, 2*time.Minute, func(c *assert.CollectT) {
		found := s.module(kyma, module)
		assert.Equal(c, shared.StateReady, found.State, found.Message)
		assert.Equal(c, version, found.Version)
	})
}

// editEntry edits a module entry as its owner does, in the remote Kyma.
func (s *stage) editEntry(module string, change func(*v1beta2.Module)) {
	s.t.Helper()
	s.editRemote(func(k *v1beta2.Kyma) {
		for i := range k.Spec.Modules {
			if k.Spec.Modules[i].Name == module {
				change(&k.Spec.Modules[i])
			}
		}
	})
}
