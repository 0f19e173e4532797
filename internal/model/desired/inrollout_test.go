package desired_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// leg is a rollout of keda with the stages canary, and the rest.
func leg(sequence int64, from, to string, changes ...func(*v1beta2.ModuleRollout)) *v1beta2.ModuleRollout {
	r := &v1beta2.ModuleRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: desiredtest.Namespace, Name: "keda-regular-" + to, UID: types.UID("to-" + to), Generation: 1},
		Spec: v1beta2.ModuleRolloutSpec{
			ModuleName: "keda", Channel: "regular", From: from, To: to, Policy: "all", Sequence: sequence,
			Plan: v1beta2.RolloutPlan{Stages: []v1beta2.RolloutStage{
				{Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}},
			}},
		},
	}
	for _, change := range changes {
		change(r)
	}
	return r
}

// upTo sets that a rollout has released its version to so many stages, and up to a point in the next stage.
func upTo(stages int32, point int64) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) {
		r.Status.Phase, r.Status.Stage, r.Status.Released = v1beta2.RolloutProgressing, stages, point
	}
}

func inPhase(phase v1beta2.RolloutPhase) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Status.Phase = phase }
}

func reverting(r *v1beta2.ModuleRollout) {
	r.Status.Phase, r.Status.Reverts = v1beta2.RolloutReverting, true
}

// first is the rollout that a policy created for the version that the channel had.
func first() *v1beta2.ModuleRollout {
	return leg(1, "1.0.0", "1.0.0", upTo(2, 0), inPhase(v1beta2.RolloutCompleted))
}

// point is the place of the only Kyma of these tests in the hash order of a rollout.
func point(version string) int64 { return rollout.Position("keda", version, "kyma-uid") }

// stagedFixture is a fixture in which keda 1.1.0 is rolled out. The Kyma is in the last stage.
type stagedFixture struct {
	*fixture
	newest    *v1beta2.ModuleRollout
	newer     *v1beta2.ModuleTemplate
	rollouts  []*v1beta2.ModuleRollout
	templates []*v1beta2.ModuleTemplate
}

func newStagedFixture() *stagedFixture {
	s := &stagedFixture{fixture: newFixture(), newest: leg(2, "1.0.0", "1.1.0"), newer: desiredtest.Template("keda", "1.1.0")}
	s.meta.Spec.Channels[0].Version = "1.1.0"
	s.rollouts, s.templates = []*v1beta2.ModuleRollout{first()}, nil
	return s
}

func (s *stagedFixture) digest(t *testing.T) string {
	t.Helper()
	w := *s.fixture
	w.others = append(w.others, s.newer)
	for _, r := range append(s.rollouts, s.newest) {
		if r != nil {
			w.others = append(w.others, r)
		}
	}
	for _, template := range s.templates {
		w.others = append(w.others, template)
	}
	return w.digest(t)
}

func TestDuringARolloutTheDigestIgnoresOtherKymasVersions(t *testing.T) {
	for name, change := range map[string]func(*stagedFixture){
		"another version in the channel": func(s *stagedFixture) {
			s.meta.Spec.Channels[0].Version = "1.2.0"
			s.meta.Generation++
		},
		"another channel": func(s *stagedFixture) {
			s.meta.Spec.Channels = append(s.meta.Spec.Channels, v1beta2.ChannelVersion{Channel: "fast", Version: "2.0.0"})
			s.meta.Generation++
		},
		"a release to the stage before":                     func(s *stagedFixture) { upTo(1, 0)(s.newest) },
		"a release that ends just before this Kyma's place": func(s *stagedFixture) { upTo(1, point("1.1.0"))(s.newest) },
		"what a rollout waits for": func(s *stagedFixture) {
			s.newest.ResourceVersion, s.newest.Status.Phase, s.newest.Status.Progress, s.newest.Status.WaitsFor = "9", v1beta2.RolloutHeld, "1/2", "somebody"
		},
		"a pause of the rollout": func(s *stagedFixture) { s.newest.Generation, s.newest.Spec.Paused = 2, true },
		"an empty progress":      func(s *stagedFixture) { s.rollouts[0].Status.Progress = "0/0" },
		"the next rollout":       func(s *stagedFixture) { s.rollouts = append(s.rollouts, leg(3, "1.1.0", "1.2.0", upTo(1, 0))) },
		"an aborted rollout":     func(s *stagedFixture) { s.newest.Status.Phase = v1beta2.RolloutAborted },
		"a rollout of another channel": func(s *stagedFixture) {
			s.rollouts = append(s.rollouts, leg(9, "1.0.0", "9.0.0", upTo(2, 0), ofChannel("fast")))
		},
		"a rollout of another module": func(s *stagedFixture) {
			s.rollouts = append(s.rollouts, leg(9, "1.0.0", "9.0.0", upTo(2, 0), func(r *v1beta2.ModuleRollout) { r.Spec.ModuleName = "btp" }))
		},
		"a rollout of another namespace": func(s *stagedFixture) {
			s.rollouts = append(s.rollouts, leg(9, "1.0.0", "9.0.0", upTo(2, 0), func(r *v1beta2.ModuleRollout) { r.Namespace = "elsewhere" }))
		},
		"a rollout of another instance": func(s *stagedFixture) {
			s.rollouts = append(s.rollouts, leg(9, "1.0.0", "9.0.0", upTo(2, 0), ofAnother))
		},
		"a synced copy of a rollout": func(s *stagedFixture) { s.rollouts = append(s.rollouts, leg(9, "1.0.0", "9.0.0", upTo(2, 0), synced)) },
		"a rollout without a policy": func(s *stagedFixture) {
			s.rollouts = append(s.rollouts, leg(9, "1.0.0", "9.0.0", upTo(2, 0), withoutPolicy))
		},
		"an edit of the new version's template": func(s *stagedFixture) { s.newer.Generation++ },
		"the removal of that template":          func(s *stagedFixture) { s.newer = desiredtest.Template("btp", "1.1.0") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStagedFixture()
			change(s)
			require.Equal(t, newStagedFixture().digest(t), s.digest(t))
		})
	}
}

func TestDuringARolloutTheDigestChangesWithTheKymasVersion(t *testing.T) {
	for name, change := range map[string]func(*stagedFixture){
		"a release of all stages":        func(s *stagedFixture) { upTo(2, 0)(s.newest) },
		"a release of this Kyma's place": func(s *stagedFixture) { upTo(1, point("1.1.0")+1)(s.newest) },
		"a release of its stage after a label change": func(s *stagedFixture) {
			s.kyma.Labels["stage"] = "canary"
			upTo(1, 0)(s.newest)
		},
		"a revert of a version that it may have": func(s *stagedFixture) { reverting(s.newest) },
		"the end of all rollouts":                func(s *stagedFixture) { s.newest, s.rollouts = nil, nil },
		"an edit of the template of its version": func(s *stagedFixture) { s.template.Generation++ },
		"a template that is gone":                func(s *stagedFixture) { s.template = desiredtest.Template("btp", "1.0.0") },
		"a beta template":                        func(s *stagedFixture) { s.template.Labels[shared.LabelBeta] = "true" },
		"a template without a version": func(s *stagedFixture) {
			template := desiredtest.Template("keda", "1.0.0")
			template.Name, template.UID, template.Spec.Version = "keda-1.1.0", "another", ""
			s.newer = template
		},
		"a beta module":            func(s *stagedFixture) { s.meta.Spec.Beta = true },
		"another selection":        func(s *stagedFixture) { s.meta.Spec.KymaSelector = &metav1.LabelSelector{} },
		"a recreated release meta": func(s *stagedFixture) { s.meta.UID = "new" },
		"the removal of the channel": func(s *stagedFixture) {
			s.meta.Spec.Channels = []v1beta2.ChannelVersion{{Channel: "fast", Version: "1.1.0"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStagedFixture()
			change(s)
			require.NotEqual(t, newStagedFixture().digest(t), s.digest(t))
		})
	}
}

func TestARolloutIsNotAnInputOfAPinnedModule(t *testing.T) {
	pinned := func(change func(*stagedFixture)) *stagedFixture {
		s := newStagedFixture()
		s.kyma.Status.Remote.Modules[0].Version = "1.0.0"
		change(s)
		return s
	}
	before := pinned(func(*stagedFixture) {}).digest(t)
	require.Equal(t, before, pinned(func(s *stagedFixture) { upTo(2, 0)(s.newest) }).digest(t))
	require.Equal(t, before, pinned(func(s *stagedFixture) { s.newest, s.rollouts = nil, nil }).digest(t))
}

func ofChannel(channel string) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Spec.Channel = channel }
}

func ofAnother(r *v1beta2.ModuleRollout) {
	r.Labels = map[string]string{shared.LabelManagedBy: "another"}
}

func synced(r *v1beta2.ModuleRollout) {
	r.Annotations = map[string]string{desired.AnnotationSyncedFrom: "kcp-system/other"}
}

func withoutPolicy(r *v1beta2.ModuleRollout) { r.Spec.Policy = "" }

// gathered returns the candidates for keda.
func gathered(t *testing.T, kyma *v1beta2.Kyma, meta *v1beta2.ModuleReleaseMeta, entry string, rollouts ...*v1beta2.ModuleRollout) desired.Candidates {
	t.Helper()
	cluster := desiredtest.NewCluster("cp", meta)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "9.0.0"} {
		require.NoError(t, cluster.Create(t.Context(), desiredtest.Template("keda", version)))
	}
	for _, r := range rollouts {
		status := r.Status
		require.NoError(t, cluster.Create(t.Context(), r))
		require.NoError(t, cluster.Status().Update(t.Context(), withStatus(r, status)))
	}
	settings := desired.Settings{Mode: desired.ModeSingleCluster}
	wanted := desired.WantedBy(kyma, desired.SyncOf(kyma, settings))
	fromCache, err := desired.Gather(t.Context(), desired.NewCached(cluster), settings, wanted)
	require.NoError(t, err)
	return fromCache[entry]
}

func withStatus(r *v1beta2.ModuleRollout, status v1beta2.ModuleRolloutStatus) *v1beta2.ModuleRollout {
	r.Status = status
	return r
}

func versionsOf(c desired.Candidates) []string {
	var versions []string
	for _, template := range c.Templates {
		versions = append(versions, template.Spec.Version)
	}
	return versions
}

func legsOf(c desired.Candidates) []string {
	var legs []string
	for _, r := range c.Rollouts {
		legs = append(legs, r.Spec.From+" to "+r.Spec.To)
	}
	return legs
}

func TestCandidatesHaveAllVersionsThatAnEntryMayGet(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda", "regular=1.2.0", "fast=9.0.0")
	next := func(stages int32) *v1beta2.ModuleRollout { return leg(2, "1.0.0", "1.1.0", upTo(stages, 0)) }

	none := gathered(t, desiredtest.Kyma("keda"), meta, "keda")
	require.Empty(t, none.Rollouts)
	require.Empty(t, none.Decided, "the release meta alone decides")
	require.Equal(t, []string{"1.2.0"}, versionsOf(none))

	waiting := gathered(t, desiredtest.Kyma("keda"), meta, "keda", first(), next(1))
	require.Equal(t, []string{"1.0.0 to 1.1.0", "1.0.0 to 1.0.0"}, legsOf(waiting), "the newest first")
	require.Equal(t, "1.0.0", waiting.Decided)
	require.Equal(t, []string{"1.0.0", "1.1.0", "1.2.0"}, versionsOf(waiting), "the assigned version is a candidate too")

	got := gathered(t, desiredtest.Kyma("keda"), meta, "keda", first(), next(2))
	require.Equal(t, "1.1.0", got.Decided)

	inCanary := desiredtest.Kyma("keda")
	inCanary.Labels["stage"] = "canary"
	require.Equal(t, "1.1.0", gathered(t, inCanary, meta, "keda", first(), next(1)).Decided)

	fast := desiredtest.Kyma("keda")
	fast.Spec.Modules[0].Channel = "fast"
	require.Empty(t, gathered(t, fast, meta, "keda", first(), next(1)).Rollouts)

	pinned := desiredtest.Kyma("keda")
	pinned.Spec.Modules[0].Version = "1.0.0"
	free := gathered(t, pinned, meta, "keda", first(), next(2))
	require.Empty(t, free.Rollouts)
	require.Equal(t, []string{"1.0.0"}, versionsOf(free))
	require.Empty(t, gathered(t, pinned, meta, "keda", leg(2, "1.0.0", "1.1.0", ofChannel(""))).Rollouts, "nor a rollout from the time when the module was mandatory")

	gone := gathered(t, desiredtest.Kyma("keda"), desiredtest.ReleaseMeta("keda", "fast=9.0.0"), "keda", first(), next(2))
	require.Empty(t, gone.Rollouts, "there is no assigned version")
	require.Empty(t, gone.Templates)
}

func TestARolloutWithoutAPolicyDecidesWhileItsVersionIsAssigned(t *testing.T) {
	r := func() *v1beta2.ModuleRollout { return leg(0, "1.0.0", "1.1.0", withoutPolicy) }
	require.Empty(t, gathered(t, desiredtest.Kyma("keda"), desiredtest.ReleaseMeta("keda", "regular=1.0.0"), "keda", r()).Rollouts)
	during := gathered(t, desiredtest.Kyma("keda"), desiredtest.ReleaseMeta("keda", "regular=1.1.0"), "keda", r())
	require.Equal(t, "1.0.0", during.Decided)
	require.Equal(t, []string{"1.0.0", "1.1.0"}, versionsOf(during))
	require.Empty(t, gathered(t, desiredtest.Kyma("keda"), desiredtest.ReleaseMeta("keda", "regular=1.2.0"), "keda", r()).Rollouts)
}

func TestAMandatoryModuleFollowsRolloutsWithoutAChannel(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda")
	meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.1.0+build.7"}
	r := leg(2, "1.0.0", "1.1.0", ofChannel(""))
	ofRegular := leg(7, "1.0.0", "9.0.0", upTo(2, 0))
	got := gathered(t, desiredtest.Kyma(), meta, desired.MandatoryEntry("keda"), r, ofRegular)
	require.Equal(t, []string{"1.0.0 to 1.1.0"}, legsOf(got))
	require.Equal(t, "1.0.0", got.Decided)
	require.Equal(t, []string{"1.0.0", "1.1.0"}, versionsOf(got))
}

func TestRolloutsAlsoUpgradeAModuleUnderRemoval(t *testing.T) {
	m := v1beta2.Manifest{}
	m.Name, m.DeletionTimestamp = "kyma-keda", new(metav1.Now())
	m.Labels = map[string]string{shared.LabelModuleName: "keda", shared.LabelChannel: "regular"}
	m.Status.DefaultCR = &v1beta2.DefaultCRRecord{UID: "cr"}
	digest := func(r *v1beta2.ModuleRollout) string {
		cluster := desiredtest.NewCluster("cp", desiredtest.ReleaseMeta("keda", "regular=1.1.0"),
			desiredtest.Template("keda", "1.0.0"), desiredtest.Template("keda", "1.1.0"), first(), r)
		inputs := desired.Inputs{Settings: desired.Settings{Mode: desired.ModeSingleCluster}, Index: desired.NewCached(cluster)}
		found, err := inputs.Delisted(t.Context(), desiredtest.Kyma(), []v1beta2.Manifest{m})
		require.NoError(t, err)
		return found
	}
	before := digest(leg(2, "1.0.0", "1.1.0"))
	require.NotEmpty(t, before)
	require.Equal(t, before, digest(leg(2, "1.0.0", "1.1.0", upTo(1, 0))))
	require.NotEqual(t, before, digest(leg(2, "1.0.0", "1.1.0", upTo(2, 0))), "the module may get the newer version now")
}

func TestAStaleCacheOfARolloutIsBypassed(t *testing.T) {
	ctx := context.Background()
	cached, live := leg(2, "1.0.0", "1.1.0"), leg(2, "1.0.0", "1.1.0", upTo(1, 0))
	cached.ResourceVersion, live.ResourceVersion = "99", "100"
	cache, server := desiredtest.NewCluster("cp", cached), desiredtest.NewCluster("cp", live)
	shown := func(seen string) []*v1beta2.ModuleRollout {
		index, err := desired.Fresh(ctx, desired.NewCached(cache), cache, server, []desired.Seen{
			{Kind: "ModuleRollout", Namespace: "kcp-system", Name: "keda-regular-1.1.0", ResourceVersion: seen},
		})
		require.NoError(t, err)
		found, err := index.Rollouts(ctx, "keda")
		require.NoError(t, err)
		others, err := index.Rollouts(ctx, "btp")
		require.NoError(t, err)
		require.Empty(t, others)
		return found
	}
	require.Len(t, shown("99"), 1)
	require.Empty(t, server.Reads(), "the cache is as new as the seen version")
	require.Zero(t, shown("99")[0].Status.Stage)

	require.Len(t, shown("100"), 1)
	require.EqualValues(t, 1, shown("100")[0].Status.Stage, "the cache does not know the release yet")

	require.NoError(t, server.Delete(ctx, live))
	require.Empty(t, shown("101"), "the cache does not know the deletion yet")

	cache, server = desiredtest.NewCluster("cp"), desiredtest.NewCluster("cp", leg(2, "1.0.0", "1.1.0"))
	require.Len(t, shown("50"), 1, "the cache does not know the creation yet")
}
