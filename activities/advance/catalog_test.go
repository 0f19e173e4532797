package advance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// catalog returns what is read from the catalog for a rollout.
func (b *bench) catalog(r *v1beta2.ModuleRollout) rollout.Situation {
	b.t.Helper()
	var s rollout.Situation
	require.NoError(b.t, b.readCatalog(b.t.Context(), r, &s))
	return s
}

func TestOnlyANewerRolloutSupersedes(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda", "regular=1.1.0")
	r := func() *v1beta2.ModuleRollout { return rolloutTo("1.1.0") }
	unofficial := func() *v1beta2.ModuleRollout { return rolloutTo("1.1.0", withoutPolicy) }
	for name, test := range map[string]struct {
		r     *v1beta2.ModuleRollout
		known []client.Object
		want  bool
	}{
		"the only rollout":                     {r(), []client.Object{r()}, false},
		"the newest rollout":                   {r(), []client.Object{r(), rolloutTo("1.0.0", sequence(1))}, false},
		"a newer rollout":                      {r(), []client.Object{r(), rolloutTo("1.2.0", sequence(3))}, true},
		"not known to informers yet":           {r(), nil, false},
		"not known, but an older one is":       {r(), []client.Object{rolloutTo("1.0.0", sequence(1))}, false},
		"not known, but a newer one is":        {r(), []client.Object{rolloutTo("1.2.0", sequence(3))}, true},
		"one under deletion":                   {r(), []client.Object{r(), rolloutTo("1.2.0", sequence(3), deleted)}, false},
		"one of another channel":               {r(), []client.Object{r(), rolloutTo("1.2.0", sequence(3), func(r *v1beta2.ModuleRollout) { r.Spec.Channel = "fast" })}, false},
		"one of another module":                {r(), []client.Object{r(), rolloutTo("1.2.0", sequence(3), func(r *v1beta2.ModuleRollout) { r.Spec.ModuleName = "btp" })}, false},
		"one of another namespace":             {r(), []client.Object{r(), rolloutTo("1.2.0", sequence(3), elsewhere)}, false},
		"one of another instance":              {r(), []client.Object{r(), rolloutTo("1.2.0", sequence(3), ofAnotherInstance)}, false},
		"one without a policy":                 {r(), []client.Object{r(), rolloutTo("1.2.0", withoutPolicy, sequence(9))}, false},
		"without a policy, by one that has it": {unofficial(), []client.Object{unofficial(), rolloutTo("1.0.0", sequence(1))}, true},
		"without a policy, the only one":       {unofficial(), []client.Object{unofficial()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, meta)
			b.informersKnow(append(test.known, meta)...)
			require.Equal(t, test.want, b.catalog(test.r).Superseded)
		})
	}
}

func TestAnOlderRolloutEndsWhenThereIsANewerOne(t *testing.T) {
	_, _, objects := fleetOf()
	r := rolloutTo("1.1.0")
	b := newBench(t, append(objects, r, rolloutTo("1.2.0", sequence(3)))...)
	require.Equal(t, "Superseded", b.step(r).Phase)
	require.Equal(t, "Ready", r.Status.Conditions[0].Type)
}

func TestTheReleaseMetaIsReadLive(t *testing.T) {
	before, now := desiredtest.ReleaseMeta("keda", "regular=1.0.0"), desiredtest.ReleaseMeta("keda", "fast=2.0.0", "regular=1.1.0")
	r := rolloutTo("1.1.0")
	b := newBench(t, now)
	b.informersKnow(before)
	require.Equal(t, "1.1.0", b.catalog(r).Desired)

	require.NoError(t, b.Delete(t.Context(), now))
	require.Empty(t, b.catalog(r).Desired, "the release meta is gone, and informers have not seen that")
}

func TestOtherReleaseMetasDoNotCount(t *testing.T) {
	for name, metas := range map[string][]client.Object{
		"nobody":                {},
		"without the channel":   {desiredtest.ReleaseMeta("keda", "fast=2.0.0")},
		"of another module":     {desiredtest.ReleaseMeta("btp", "regular=1.1.0")},
		"in another namespace":  {changed(desiredtest.ReleaseMeta("keda", "regular=1.1.0"), elsewhere)},
		"of another instance":   {changed(desiredtest.ReleaseMeta("keda", "regular=1.1.0"), ofAnotherInstance)},
		"of a mandatory module": {changed(desiredtest.ReleaseMeta("keda"), func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.1.0"} })},
	} {
		require.Empty(t, newBench(t, metas...).catalog(rolloutTo("1.1.0")).Desired, name)
	}
}

func TestTheVersionOfAMandatoryModuleHasNoChannel(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda")
	meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.1.0+build.7"}
	require.Equal(t, "1.1.0", newBench(t, meta).catalog(rolloutTo("1.1.0", mandatory)).Desired, "build metadata is ignored, because no template has it")
	require.Empty(t, channelVersion(desiredtest.ReleaseMeta("keda", "regular=1.1.0"), ""))
}

func TestARolloutWithoutItsReleaseMetaIsHeld(t *testing.T) {
	first, second, _ := fleetOf()
	r := rolloutTo("1.1.0")
	b := newBench(t, r, first, second, installed(first, "1.0.0"), installed(second, "1.0.0"))
	out := b.step(r)
	require.Equal(t, "Held", out.Phase)
	require.Contains(t, out.WaitsFor, "no longer gives channel regular a version")
	require.Zero(t, out.Until)
	require.Zero(t, r.Status.Released)
}

// allows returns the template of keda 1.1.0 with the range of versions that clusters may be reverted to.
func allows(versions string) *v1beta2.ModuleTemplate {
	template := desiredtest.Template("keda", "1.1.0")
	if versions != "" {
		template.Annotations[shared.AnnotationRevertibleTo] = versions
	}
	return template
}

func TestTheTemplateOfTheNewVersionDecidesAboutReverts(t *testing.T) {
	const annotation = "annotation operator.kyma-project.io/revertible-to of ModuleTemplate keda-1.1.0 "
	from := func(version string) func(*v1beta2.ModuleRollout) {
		return func(r *v1beta2.ModuleRollout) { r.Spec.From = version }
	}
	for name, test := range map[string]struct {
		template *v1beta2.ModuleTemplate
		r        *v1beta2.ModuleRollout
		want     string // part of the reason, or empty if a revert is allowed
	}{
		"within the range":           {allows(">=1.0.0 <1.1.0"), rolloutTo("1.1.0"), ""},
		"one version":                {allows("1.0.0"), rolloutTo("1.1.0"), ""},
		"a prerelease in the range":  {allows(">=1.0.0 <1.1.0"), rolloutTo("1.1.0", from("1.0.5-rc.1")), ""},
		"a prerelease before it":     {allows(">=1.0.0 <1.1.0"), rolloutTo("1.1.0", from("1.0.0-rc.1")), annotation + "allows >=1.0.0 <1.1.0, but not 1.0.0-rc.1"},
		"outside the range":          {allows(">=1.0.5"), rolloutTo("1.1.0"), annotation + "allows >=1.0.5, but not 1.0.0"},
		"no semantic version":        {allows(">=1.0.0"), rolloutTo("1.1.0", from("initial")), annotation + "allows >=1.0.0, but not initial"},
		"no range":                   {allows("the former one"), rolloutTo("1.1.0"), annotation + "is not a valid version range: "},
		"without the annotation":     {allows(""), rolloutTo("1.1.0"), "ModuleTemplate keda-1.1.0 has no annotation operator.kyma-project.io/revertible-to"},
		"without a template":         {desiredtest.Template("keda", "1.0.0"), rolloutTo("1.1.0"), "no ModuleTemplate of module keda in version 1.1.0 found"},
		"with another namespace's":   {changed(allows("1.0.0"), elsewhere), rolloutTo("1.1.0"), "no ModuleTemplate of module keda in version 1.1.0 found"},
		"with another instance's":    {changed(allows("1.0.0"), ofAnotherInstance), rolloutTo("1.1.0"), "no ModuleTemplate of module keda in version 1.1.0 found"},
		"of a mandatory module":      {allows("1.0.0"), rolloutTo("1.1.0", mandatory), ""},
		"of another version's range": {allows("1.0.0"), rolloutTo("1.2.0"), "no ModuleTemplate of module keda in version 1.2.0 found"},
	} {
		t.Run(name, func(t *testing.T) {
			why := newBench(t, test.template).catalog(test.r).NotRevertible
			if test.want == "" {
				require.Empty(t, why)
				return
			}
			require.Contains(t, why, test.want)
		})
	}
}

func TestAJustAddedAnnotationIsReadLive(t *testing.T) {
	r, template := rolloutTo("1.1.0"), allows("1.0.0")
	b := newBench(t, template)
	b.informersKnow(allows(""))
	require.Empty(t, b.catalog(r).NotRevertible)
	require.NoError(t, b.Delete(t.Context(), template))
	require.Equal(t, "no ModuleTemplate of module keda in version 1.1.0 found", b.catalog(r).NotRevertible)
}

func TestClustersAreRevertedOnlyIfTheTemplateAllowsIt(t *testing.T) {
	_, _, objects := fleetOf()
	r := rolloutTo("1.1.0", func(r *v1beta2.ModuleRollout) {
		r.Spec.Revert, r.Status.Phase, r.Status.Stage = v1beta2.RevertAll, v1beta2.RolloutProgressing, 1
	})
	b := newBench(t, append(objects, r)...)
	require.Contains(t, b.step(r).WaitsFor, "clusters cannot be reverted: no ModuleTemplate of module keda in version 1.1.0 found")
	require.Equal(t, v1beta2.RolloutHeld, r.Status.Phase)
	require.False(t, r.Status.Reverts)

	require.NoError(t, b.Create(t.Context(), allows(">=1.0.0")))
	b.step(r)
	require.True(t, r.Status.Reverts)
}
