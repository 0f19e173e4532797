package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestAKymaSeesOnlyTheAllowedPartOfTheCatalog(t *testing.T) {
	template := func(module, version string, change func(*v1beta2.ModuleTemplate)) v1beta2.ModuleTemplate {
		object := desiredtest.Template(module, version)
		if change != nil {
			change(object)
		}
		return *object
	}
	channel := func(module string, change func(*v1beta2.ModuleTemplate)) v1beta2.ModuleTemplate {
		object := desiredtest.ChannelTemplate(module, "regular", "1.0.0")
		if change != nil {
			change(object)
		}
		return *object
	}
	meta := func(module string, change func(*v1beta2.ModuleReleaseMeta), assignments ...string) v1beta2.ModuleReleaseMeta {
		object := desiredtest.ReleaseMeta(module, assignments...)
		if change != nil {
			change(object)
		}
		return *object
	}
	label := func(key string) func(*v1beta2.ModuleTemplate) {
		return func(t *v1beta2.ModuleTemplate) { t.Labels[key] = "true" }
	}
	templates := []v1beta2.ModuleTemplate{
		template("keda", "1.0.0", nil), template("keda", "2.0.0", nil), template("keda", "0.1.0", nil),
		template("secret", "1.0.0", nil),
		template("warden", "1.0.0", nil),
		template("premium", "1.0.0", nil),
		channel("btp", nil),
		channel("newest", label(shared.LabelBeta)),
		channel("hidden", label(shared.LabelInternal)),
		channel("always", func(t *v1beta2.ModuleTemplate) { t.Spec.Mandatory = true }),
		channel("theirs", func(t *v1beta2.ModuleTemplate) { t.Labels[shared.LabelManagedBy] = "other" }),
		channel("controlled", func(t *v1beta2.ModuleTemplate) { t.Labels[shared.LabelControllerName] = "other" }),
		channel("copied", func(t *v1beta2.ModuleTemplate) { t.Annotations[desired.AnnotationSyncedFrom] = "a/b" }),
		channel("btp", func(t *v1beta2.ModuleTemplate) { t.Namespace = "another" }),
		channel("labelled", label(shared.LabelMandatoryModule)),
		channel("taken", func(t *v1beta2.ModuleTemplate) { t.Annotations[desired.AnnotationImportedFrom] = "default/mine" }),
		template("quiet", "1.0.0", func(t *v1beta2.ModuleTemplate) { t.Spec.ModuleName = "" }),
		template("dropped", "1.0.0", nil),
		template("unnamed", "1.0.0", func(t *v1beta2.ModuleTemplate) { t.Spec.ModuleName, t.Labels = "", map[string]string{} }),
	}
	metas := []v1beta2.ModuleReleaseMeta{
		meta("keda", nil, "regular=1.0.0", "fast=2.0.0"),
		meta("secret", func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Internal = true }, "regular=1.0.0"),
		meta("quiet", func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Internal = true }, "regular=1.0.0"),
		meta("warden", func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.0.0"} }),
		meta("premium", func(m *v1beta2.ModuleReleaseMeta) {
			m.Spec.KymaSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"plan": "premium"}}
		}, "regular=1.0.0"),
	}
	seen := func(change func(*v1beta2.Kyma), settings desired.Settings) []string {
		kyma := desiredtest.Kyma()
		if change != nil {
			change(kyma)
		}
		var all []string
		for _, object := range allowed(kyma, settings.WithDefaults(), "kyma-system", false, templates, metas) {
			all = append(all, desired.KindOf(object)+" "+desired.NameOf(object))
		}
		return all
	}
	ordinary := []string{
		"ModuleReleaseMeta kcp-system/keda",
		"ModuleTemplate kcp-system/btp-regular", "ModuleTemplate kcp-system/keda-1.0.0", "ModuleTemplate kcp-system/keda-2.0.0",
	}
	require.Equal(t, ordinary, seen(nil, desired.Settings{}))
	require.ElementsMatch(t, append([]string{"ModuleTemplate kcp-system/newest-regular"}, ordinary...),
		seen(func(k *v1beta2.Kyma) { k.Labels[shared.LabelBeta] = "true" }, desired.Settings{}))
	require.ElementsMatch(t, append([]string{
		"ModuleTemplate kcp-system/hidden-regular", "ModuleReleaseMeta kcp-system/secret", "ModuleTemplate kcp-system/secret-1.0.0",
		"ModuleReleaseMeta kcp-system/quiet", "ModuleTemplate kcp-system/quiet-1.0.0",
	}, ordinary...), seen(func(k *v1beta2.Kyma) { k.Labels[shared.LabelInternal] = "true" }, desired.Settings{}))
	require.ElementsMatch(t, append([]string{
		"ModuleReleaseMeta kcp-system/premium", "ModuleTemplate kcp-system/premium-1.0.0",
	}, ordinary...), seen(func(k *v1beta2.Kyma) { k.Labels["plan"] = "premium" }, desired.Settings{RestrictedModules: []string{"premium"}}))
	require.Equal(t, ordinary, seen(func(k *v1beta2.Kyma) { k.Labels["plan"] = "premium" }, desired.Settings{}),
		"a selector has no effect on a module that is not listed as restricted")
	require.Equal(t, []string{
		"ModuleReleaseMeta kcp-system/keda", "ModuleTemplate kcp-system/keda-1.0.0", "ModuleTemplate kcp-system/keda-2.0.0",
	}, seen(nil, desired.Settings{RestrictedModules: []string{"btp"}}))
	require.Equal(t, []string{"ModuleTemplate kcp-system/theirs-regular"}, seen(nil, desired.Settings{ManagedBy: "other"}))
	require.Subset(t, seen(func(k *v1beta2.Kyma) { k.Labels[shared.LabelInternal] = "true" }, desired.Settings{}), []string{
		"ModuleTemplate kcp-system/quiet-1.0.0",
	}, "the module's release meta governs a template that names its module only in its own name")
}

func TestAReleaseMetaWithoutAChannelForTheKymaIsOmitted(t *testing.T) {
	beta := *desiredtest.Template("keda", "1.0.0")
	beta.Labels[shared.LabelBeta] = "true"
	templates, metas := []v1beta2.ModuleTemplate{beta}, []v1beta2.ModuleReleaseMeta{*desiredtest.ReleaseMeta("keda", "regular=1.0.0")}
	require.Empty(t, allowed(desiredtest.Kyma(), desired.Settings{}.WithDefaults(), "kyma-system", false, templates, metas))
	require.Len(t, metas[0].Spec.Channels, 1, "the original must not change, because it is shared")
}
