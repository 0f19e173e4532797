package versions

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// leg is a rollout of keda that has released its version to the first so many of its stages. The stages are canary, and
// the rest.
func leg(from, to string, stages int32) *v1beta2.ModuleRollout {
	r := &v1beta2.ModuleRollout{}
	r.Spec.ModuleName, r.Spec.Channel, r.Spec.From, r.Spec.To, r.Spec.Policy = "keda", "regular", from, to, "all"
	r.Spec.Plan.Stages = []v1beta2.RolloutStage{
		{Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}},
	}
	r.Status.Stage = stages
	return r
}

func reverts(r *v1beta2.ModuleRollout) *v1beta2.ModuleRollout {
	r.Status.Reverts = true
	return r
}

// candidatesOf returns candidates with a release meta that assigns a version, and with rollouts in force, newest first.
func candidatesOf(assigned string, templates []string, rollouts ...*v1beta2.ModuleRollout) desired.Candidates {
	c := desired.Candidates{ReleaseMetas: []*v1beta2.ModuleReleaseMeta{desiredtest.ReleaseMeta("keda", "regular="+assigned)}, Rollouts: rollouts}
	for _, version := range templates {
		c.Templates = append(c.Templates, desiredtest.Template("keda", version))
	}
	return c
}

func TestTheVersionOfAnEntryDuringARollout(t *testing.T) {
	all := []string{"1.0.0", "1.1.0", "1.2.0"}
	first := leg("1.0.0", "1.0.0", 2)
	for name, test := range map[string]struct {
		rollouts  []*v1beta2.ModuleRollout
		canary    bool
		installed string
		want      string
		takesBack bool
	}{
		"no rollout: the assigned version":                  {nil, false, "1.0.0", "1.1.0", false},
		"not released: the former version":                  {[]*v1beta2.ModuleRollout{leg("1.0.0", "1.1.0", 1), first}, false, "1.0.0", "1.0.0", false},
		"not released, new cluster: the former version":     {[]*v1beta2.ModuleRollout{leg("1.0.0", "1.1.0", 1), first}, false, "", "1.0.0", false},
		"released to its stage: the new version":            {[]*v1beta2.ModuleRollout{leg("1.0.0", "1.1.0", 1), first}, true, "1.0.0", "1.1.0", false},
		"released to all stages: the new version":           {[]*v1beta2.ModuleRollout{leg("1.0.0", "1.1.0", 2), first}, false, "1.0.0", "1.1.0", false},
		"not released after a label change: as installed":   {[]*v1beta2.ModuleRollout{leg("1.0.0", "1.1.0", 1), first}, false, "1.1.0", "1.1.0", false},
		"the rollout reverts: the former version":           {[]*v1beta2.ModuleRollout{reverts(leg("1.0.0", "1.1.0", 0)), first}, true, "1.1.0", "1.0.0", true},
		"already reverted: the former version":              {[]*v1beta2.ModuleRollout{reverts(leg("1.0.0", "1.1.0", 0)), first}, true, "1.0.0", "1.0.0", false},
		"not reverted yet: the new version":                 {[]*v1beta2.ModuleRollout{reverts(leg("1.0.0", "1.1.0", 1)), first}, true, "1.1.0", "1.1.0", false},
		"the version that the previous rollout released":    {[]*v1beta2.ModuleRollout{leg("1.1.0", "1.2.0", 0), leg("1.0.0", "1.1.0", 1), first}, true, "1.1.0", "1.1.0", false},
		"the version before a previous unreleased rollout":  {[]*v1beta2.ModuleRollout{leg("1.1.0", "1.2.0", 0), leg("1.0.0", "1.1.0", 1), first}, false, "1.0.0", "1.0.0", false},
		"the first rollout is gone: the oldest version":     {[]*v1beta2.ModuleRollout{leg("1.0.0", "1.1.0", 0)}, false, "", "1.0.0", false},
		"installed, no rollout yet: the assigned version":   {[]*v1beta2.ModuleRollout{first}, false, "1.1.0", "1.1.0", false},
		"not installed, no rollout yet: the former version": {[]*v1beta2.ModuleRollout{first}, false, "1.0.0", "1.0.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := desiredtest.Kyma("keda")
			if test.canary {
				kyma.Labels["stage"] = "canary"
			}
			got := Choose(kyma, desired.Settings{}, kyma.Spec.Modules[0], "regular", candidatesOf("1.1.0", all, test.rollouts...), test.installed)
			require.Nil(t, got.Refusal)
			require.Equal(t, test.want, got.Version)
			require.Equal(t, "keda-"+test.want, got.Template.Name)
			require.Equal(t, test.takesBack, got.TakesBack)
			require.Equal(t, "regular", got.Channel)
		})
	}
}

func TestRolloutsDoNotChangeAPinnedVersion(t *testing.T) {
	module := v1beta2.Module{Name: "keda", Version: "1.0.0"}
	got := Choose(desiredtest.Kyma(), desired.Settings{}, module, "regular", candidatesOf("1.2.0", []string{"1.0.0", "1.1.0"}, leg("1.0.0", "1.1.0", 2)), "1.1.0")
	require.Equal(t, "1.0.0", got.Version)
	require.False(t, got.TakesBack)
	require.Empty(t, got.Channel)
}

func TestAMissingChannelDuringARolloutRemovesNothing(t *testing.T) {
	candidates := candidatesOf("1.1.0", []string{"1.0.0"}, leg("1.0.0", "1.1.0", 1))
	got := Choose(desiredtest.Kyma(), desired.Settings{}, v1beta2.Module{Name: "keda"}, "fast", candidates, "1.0.0")
	require.Equal(t, ReasonNoVersionForChannel, got.Refusal.Reason)
	require.False(t, got.Refusal.Remove)
}

func TestAClusterThatIsNotReleasedNeedsTheFormerTemplate(t *testing.T) {
	candidates := candidatesOf("1.1.0", []string{"1.1.0"}, leg("1.0.0", "1.1.0", 1))
	got := Choose(desiredtest.Kyma(), desired.Settings{}, v1beta2.Module{Name: "keda"}, "regular", candidates, "")
	require.Equal(t, ReasonTemplateNotFound, got.Refusal.Reason)
	require.Contains(t, got.Refusal.Message, `"keda-1.0.0" not found`)
}

func TestTheVersionOfAMandatoryModuleDuringARollout(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda")
	meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.1.0+build.7"}
	choose := func(installed string, rollouts ...*v1beta2.ModuleRollout) Choice {
		return ChooseMandatory(desiredtest.Kyma(), "keda", desired.Settings{}, desired.Candidates{
			ReleaseMetas: []*v1beta2.ModuleReleaseMeta{meta}, Rollouts: rollouts,
			Templates: []*v1beta2.ModuleTemplate{desiredtest.Template("keda", "1.0.0"), desiredtest.Template("keda", "1.1.0")},
		}, installed)
	}
	for name, test := range map[string]struct {
		got       Choice
		want      string
		takesBack bool
	}{
		"without one":  {choose("1.0.0"), "1.1.0", false},
		"not released": {choose("1.0.0", leg("1.0.0", "1.1.0", 0)), "1.0.0", false},
		"released":     {choose("1.0.0", leg("1.0.0", "1.1.0", 2)), "1.1.0", false},
		"kept":         {choose("1.1.0", leg("1.0.0", "1.1.0", 0)), "1.1.0", false},
		"taken back":   {choose("1.1.0", reverts(leg("1.0.0", "1.1.0", 0))), "1.0.0", true},
	} {
		require.Nil(t, test.got.Refusal, name)
		require.Equal(t, test.want, test.got.Version, name)
		require.Equal(t, "keda-"+test.want, test.got.Template.Name, name)
		require.Equal(t, test.takesBack, test.got.TakesBack, name)
	}
}
