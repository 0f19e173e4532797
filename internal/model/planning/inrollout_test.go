package planning

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// leg is a rollout of a module that has released its version to the first so many of its stages. The stages are canary,
// and the rest.
func leg(sequence int64, from, to string, stages int32) *v1beta2.ModuleRollout {
	r := &v1beta2.ModuleRollout{ObjectMeta: metav1.ObjectMeta{Namespace: desiredtest.Namespace, Name: "keda-" + to}}
	r.Spec = v1beta2.ModuleRolloutSpec{
		ModuleName: "keda", Channel: "regular", From: from, To: to, Policy: "all", Sequence: sequence,
		Plan: v1beta2.RolloutPlan{Stages: []v1beta2.RolloutStage{
			{Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}},
		}},
	}
	r.Status.Stage = stages
	return r
}

// rollingOut is a plan during a rollout of keda 1.1.0, for a Kyma of the stage canary that has a version.
func rollingOut(r *v1beta2.ModuleRollout, has *v1beta2.Manifest) *setup {
	s := &setup{
		kyma: desiredtest.Kyma("keda"), metas: []*v1beta2.ModuleReleaseMeta{desiredtest.ReleaseMeta("keda", "regular=1.1.0")},
		templates: []*v1beta2.ModuleTemplate{desiredtest.Template("keda", "1.0.0"), desiredtest.Template("keda", "1.1.0")},
		rollouts:  []*v1beta2.ModuleRollout{leg(1, "1.0.0", "1.0.0", 2), r},
	}
	s.kyma.Labels["stage"] = "canary"
	if has != nil {
		s.manifests = []*v1beta2.Manifest{has}
	}
	return s
}

func (s *setup) keda(t *testing.T) ModulePlan {
	t.Helper()
	plans, left := s.plan(t)
	require.Empty(t, left)
	return plans["keda"]
}

func TestAClusterGetsAVersionWhenARolloutReleasesIt(t *testing.T) {
	waiting := rollingOut(leg(2, "1.0.0", "1.1.0", 0), nil).keda(t)
	require.Equal(t, ActionCreate, waiting.Action)
	require.Equal(t, "1.0.0", waiting.Manifest.Spec.Version, "this applies to a new cluster too")

	s := rollingOut(leg(2, "1.0.0", "1.1.0", 0), waiting.Manifest)
	require.Equal(t, ActionKeep, s.keda(t).Action)

	s = rollingOut(leg(2, "1.0.0", "1.1.0", 1), waiting.Manifest)
	got := s.keda(t)
	require.Equal(t, ActionUpdate, got.Action)
	require.Equal(t, "1.1.0", got.Manifest.Spec.Version)
	require.Equal(t, "regular", got.Channel)
}

func TestARevertMayDowngradeACluster(t *testing.T) {
	r := leg(2, "1.0.0", "1.1.0", 0)
	r.Status.Reverts = true
	got := rollingOut(r, installed("keda", "1.1.0")).keda(t)
	require.Nil(t, got.Refusal)
	require.Equal(t, ActionUpdate, got.Action)
	require.Equal(t, "1.0.0", got.Manifest.Spec.Version)

	got = rollingOut(r, installed("keda", "1.2.0")).keda(t)
	require.Equal(t, versions.ReasonDowngrade, got.Refusal.Reason, "a version that did not come from this rollout stays")
	require.Equal(t, ActionKeep, got.Action)
}

func TestAChangeOfLabelsDoesNotChangeTheVersion(t *testing.T) {
	s := rollingOut(leg(2, "1.0.0", "1.1.0", 1), installed("keda", "1.1.0"))
	s.kyma.Labels = map[string]string{}
	got := s.keda(t)
	require.Nil(t, got.Refusal)
	require.Equal(t, "1.1.0", got.Version)

	s = rollingOut(leg(2, "1.0.0", "1.1.0", 1), installed("keda", "1.0.0"))
	s.kyma.Labels = map[string]string{}
	require.Equal(t, "1.0.0", s.keda(t).Version, "a change of labels gives no version either")
}

func TestAnEditedManifestReleasesNoVersion(t *testing.T) {
	edited := func(before string) *v1beta2.Manifest {
		m := installed("keda", before)
		m.Status.InstalledVersion = before
		m.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(m.Spec)
		m.Spec.Version = "1.1.0"
		return m
	}
	got := rollingOut(leg(2, "1.0.0", "1.1.0", 0), edited("1.0.0")).keda(t)
	require.Equal(t, "1.0.0", got.Version)
	require.Equal(t, ActionUpdate, got.Action)
	require.Equal(t, "1.0.0", got.Manifest.Spec.Version)
}

func TestTheManifestOfAnotherInstanceIsNotAnInstalledVersion(t *testing.T) {
	m := installed("keda", "1.1.0")
	m.Labels[shared.LabelManagedBy] = "another"
	require.Equal(t, "1.0.0", rollingOut(leg(2, "1.0.0", "1.1.0", 0), m).keda(t).Version)
}

func TestAPinnedVersionIgnoresRollouts(t *testing.T) {
	for _, stages := range []int32{0, 2} {
		s := rollingOut(leg(2, "1.0.0", "1.1.0", stages), installed("keda", "1.0.0"))
		s.kyma.Spec.Modules[0].Version = "1.1.0"
		require.Equal(t, "1.1.0", s.keda(t).Manifest.Spec.Version)
	}
}

func TestAMandatoryModuleFollowsTheStagesOfARollout(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda")
	meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.1.0"}
	plan := func(r *v1beta2.ModuleRollout, has string) ModulePlan {
		m := installed("keda", has)
		m.Labels[shared.LabelMandatoryModule] = shared.ValueTrue
		delete(m.Labels, shared.LabelChannel)
		s := rollingOut(r, m)
		s.metas, s.kyma.Spec.Modules = []*v1beta2.ModuleReleaseMeta{meta}, nil
		for _, r := range s.rollouts {
			r.Spec.Channel = ""
		}
		all := s.plans(t)
		require.Empty(t, all.Modules)
		require.Len(t, all.Mandatory, 1)
		require.Nil(t, all.Mandatory[0].Refusal)
		return all.Mandatory[0]
	}
	require.Equal(t, "1.0.0", plan(leg(2, "1.0.0", "1.1.0", 0), "1.0.0").Version)
	require.Equal(t, "1.1.0", plan(leg(2, "1.0.0", "1.1.0", 1), "1.0.0").Manifest.Spec.Version)
	require.Equal(t, "1.1.0", plan(leg(2, "1.0.0", "1.1.0", 0), "1.1.0").Version, "the cluster keeps its version")
	back := leg(2, "1.0.0", "1.1.0", 0)
	back.Status.Reverts = true
	require.Equal(t, "1.0.0", plan(back, "1.1.0").Manifest.Spec.Version)
}

func TestAnUpgradeInARolloutWaitsForItsWindow(t *testing.T) {
	s := rollingOut(leg(2, "1.0.0", "1.1.0", 1), installed("keda", "1.0.0"))
	s.templates[1].Spec.RequiresDowntime = true
	s.window = func() Wait { return Wait{} }
	got := s.keda(t)
	require.Equal(t, ActionKeep, got.Action)
	require.NotNil(t, got.Window)
}
