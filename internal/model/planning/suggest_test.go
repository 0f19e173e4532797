package planning

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

func TestSuggestionsForMistypedWords(t *testing.T) {
	known := []string{"btp-operator", "fast", "keda", "kedi", "regular", "telemetry"}
	for word, want := range map[string]string{
		"kead":        "did you mean keda? ",
		"kedo":        "did you mean keda or kedi? ",
		"Keda":        "did you mean keda? ",
		"regualr":     "did you mean regular? ",
		"fsat":        "did you mean fast? ",
		"btpoperator": "did you mean btp-operator? ",
		"telemtery2":  "did you mean telemetry? ",
		"fast":        "", // it is known, so it is not mistyped
		"serverless":  "",
		"":            "",
	} {
		require.Equal(t, want, versions.DidYouMean(word, known), word)
	}
	require.Equal(t, "did you mean aaaaab or aaaaac or aaaaad? ", versions.DidYouMean("aaaaaa", []string{"aaaaab", "aaaaac", "aaaaad", "aaaaae"}))
}

// Clients compare these messages word for word, so the remedy is in a separate hint.
func TestMessagesOfTheContractHaveASeparateHint(t *testing.T) {
	metas := func(all ...*v1beta2.ModuleReleaseMeta) []*v1beta2.ModuleReleaseMeta { return all }
	hidden := desiredtest.ReleaseMeta("kedb", "regular=1.0.0")
	hidden.Spec.Beta = true
	unreadable := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	unreadable.Spec.KymaSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	selecting := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	selecting.Spec.KymaSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "plan", Operator: "DoesNotExist"}}}
	for name, test := range map[string]struct {
		setup         setup
		message, hint string
	}{
		"an unknown name": {
			setup:   setup{kyma: desiredtest.Kyma("serverless"), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"))},
			message: "no ModuleReleaseMeta found",
			hint:    "the catalog has no module serverless: correct the name, or publish the module",
		},
		"a mistyped name; modules that this Kyma may not have are not suggested": {
			setup:   setup{kyma: desiredtest.Kyma("kedd"), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0"), hidden)},
			message: "no ModuleReleaseMeta found",
			hint:    "did you mean keda? the catalog has no module kedd: correct the name, or publish the module",
		},
		"templates in no channel": {
			setup:   setup{kyma: desiredtest.Kyma("keda"), templates: []*v1beta2.ModuleTemplate{desiredtest.Template("keda", "1.0.0")}},
			message: "no ModuleReleaseMeta found",
			hint:    "the ModuleTemplates kcp-system/keda-1.0.0 of module keda are in no channel: publish a ModuleReleaseMeta for it",
		},
		"a mistyped channel": {
			setup: setup{kyma: modified(desiredtest.Kyma("keda"), func(k *v1beta2.Kyma) { k.Spec.Channel = "fsat" }),
				metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.0.0", "fast=2.0.0"))},
			message: "no versions found for channel: fsat in module keda",
			hint:    "did you mean fast? module keda is in fast, regular: choose one of these channels",
		},
		"a version that has no template": {
			setup:   setup{kyma: desiredtest.Kyma("keda"), metas: metas(desiredtest.ReleaseMeta("keda", "regular=1.1.0"))},
			message: `failed to get module template: ModuleTemplate.operator.kyma-project.io "keda-1.1.0" not found`,
			hint:    "no ModuleTemplate found for module keda in version 1.1.0: publish ModuleTemplate keda-1.1.0",
		},
		"a pinned version that has no template": {
			setup: setup{kyma: modified(desiredtest.Kyma("keda"), func(k *v1beta2.Kyma) { k.Spec.Modules[0].Version, k.Spec.Modules[0].Channel = "1.1.0", "" }),
				templates: []*v1beta2.ModuleTemplate{desiredtest.Template("keda", "1.0.0")}},
			message: `failed to get module template: ModuleTemplate.operator.kyma-project.io "keda-1.1.0" not found`,
			hint:    "no ModuleTemplate found for module keda in version 1.1.0: publish ModuleTemplate keda-1.1.0",
		},
		"a selector on a module that is not listed as restricted": {
			setup: setup{kyma: desiredtest.Kyma("keda"), metas: metas(selecting), manifests: []*v1beta2.Manifest{installed("keda", "1.0.0")},
				templates: []*v1beta2.ModuleTemplate{desiredtest.Template("keda", "1.0.0")}},
			message: "module template not allowed: module has kymaSelector but is not in restricted modules list",
			hint:    "name the module in --restricted-default-modules, or take the kymaSelector off ModuleReleaseMeta kcp-system/keda",
		},
		"a downgrade": {
			setup: setup{kyma: desiredtest.Kyma("keda"), manifests: []*v1beta2.Manifest{installed("keda", "2.0.0")},
				templates: []*v1beta2.ModuleTemplate{desiredtest.ChannelTemplate("keda", "regular", "1.0.0")}},
			message: "module template update not allowed: ignore channel skew (from regular to regular), as a higher version (2.0.0) of the module was previously installed",
			hint: "version 1.0.0 is lower than the installed 2.0.0: publish a newer version, remove and add the module, " +
				"or allow it by the annotation operator.kyma-project.io/allow-downgrade=true on the Kyma",
		},
		"an invalid selector": {
			setup: setup{kyma: desiredtest.Kyma("keda"), metas: metas(unreadable), settings: desired.Settings{RestrictedModules: []string{"keda"}},
				templates: []*v1beta2.ModuleTemplate{desiredtest.Template("keda", "1.0.0")}},
			message: "module template not allowed: restricted module not allowed for this Kyma",
			hint:    `the kymaSelector of ModuleReleaseMeta kcp-system/keda is invalid: "Near" is not a valid label selector operator`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			plans, _ := test.setup.plan(t)
			plan := plans[test.setup.kyma.Spec.Modules[0].Name]
			require.NotNil(t, plan.Refusal)
			require.Equal(t, test.message, plan.Refusal.Message)
			require.Equal(t, test.hint, plan.Refusal.Hint)
			require.False(t, plan.Refusal.Remove, "none of these refusals uninstalls the module")
		})
	}
}
