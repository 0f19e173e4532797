package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	older = "1.0.0"
	newer = "2.0.0"
)

// begun is when the rollouts of the tests began.
var begun = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// rolloutOf returns a rollout with these stages that has not begun.
func rolloutOf(stages ...v1beta2.RolloutStage) *v1beta2.ModuleRollout {
	return &v1beta2.ModuleRollout{
		ObjectMeta: metav1.ObjectMeta{Name: "keda-regular", Generation: 7},
		Spec: v1beta2.ModuleRolloutSpec{
			ModuleName: "keda", Channel: "regular", From: older, To: newer, Policy: "policy", Plan: v1beta2.RolloutPlan{Stages: stages},
		},
	}
}

// byLabel is a stage that takes the clusters with a label of its name.
func byLabel(name string) v1beta2.RolloutStage {
	return v1beta2.RolloutStage{Name: name, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": name}}}
}

func byPercent(percent int32) v1beta2.RolloutStage {
	return v1beta2.RolloutStage{Name: fmt.Sprintf("percent-%d", percent), Percent: &percent}
}

func byCount(count int32) v1beta2.RolloutStage {
	return v1beta2.RolloutStage{Name: fmt.Sprintf("count-%d", count), Count: &count}
}

// fleetOf returns so many clusters. The labeled ones have a stage's label.
func fleetOf(n int, labelled map[int]string) []Cluster {
	fleet := make([]Cluster, n)
	for i := range fleet {
		fleet[i].UID = types.UID(fmt.Sprintf("0b3e7f3c-uid-%d", i))
		if stage := labelled[i]; stage != "" {
			fleet[i].Labels = map[string]string{"stage": stage}
		}
	}
	return fleet
}

// sizes returns how many clusters each stage has.
func sizes(r *v1beta2.ModuleRollout, fleet []Cluster) []int {
	counts, place := make([]int, len(Stages(r.Spec.Plan))), PlaceFunc(r)
	for _, c := range fleet {
		counts[place(c).Stage]++
	}
	return counts
}

func TestAStageForTheRestIsAdded(t *testing.T) {
	for name, test := range map[string]struct {
		stages []v1beta2.RolloutStage
		want   []string
	}{
		"to no stages":               {nil, []string{"rest"}},
		"after one by labels":        {[]v1beta2.RolloutStage{byLabel("canary")}, []string{"canary", "rest"}},
		"after one by percent":       {[]v1beta2.RolloutStage{byPercent(100)}, []string{"percent-100", "rest"}},
		"after one by count":         {[]v1beta2.RolloutStage{byCount(1)}, []string{"count-1", "rest"}},
		"not if the last takes them": {[]v1beta2.RolloutStage{byLabel("canary"), {Name: "others"}}, []string{"canary", "others"}},
		"not to one that takes all":  {[]v1beta2.RolloutStage{{Name: "all"}}, []string{"all"}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := v1beta2.RolloutPlan{Stages: test.stages}
			var names []string
			for _, stage := range Stages(plan) {
				names = append(names, stage.Name)
			}
			require.Equal(t, test.want, names)
			require.Len(t, plan.Stages, len(test.stages), "the plan must not change")
		})
	}
}

func TestAClusterIsInTheFirstStageThatTakesIt(t *testing.T) {
	everyone := v1beta2.RolloutStage{Name: "everyone", Selector: &metav1.LabelSelector{}}
	expression := v1beta2.RolloutStage{Name: "tests", Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "stage", Operator: metav1.LabelSelectorOpIn, Values: []string{"dev", "test"}},
	}}}
	unreadable := v1beta2.RolloutStage{Name: "unreadable", Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "stage", Operator: "Like", Values: []string{"canary"}},
	}}}
	for name, test := range map[string]struct {
		label  string
		stages []v1beta2.RolloutStage
		want   int
	}{
		"with its label":                 {"canary", []v1beta2.RolloutStage{byLabel("canary"), byLabel("early")}, 0},
		"by the label of a later stage":  {"early", []v1beta2.RolloutStage{byLabel("canary"), byLabel("early")}, 1},
		"by no label":                    {"", []v1beta2.RolloutStage{byLabel("canary"), byLabel("early")}, 2},
		"by another label":               {"late", []v1beta2.RolloutStage{byLabel("canary"), byLabel("early")}, 2},
		"by an expression":               {"test", []v1beta2.RolloutStage{byLabel("canary"), expression}, 1},
		"by a selector for everyone":     {"", []v1beta2.RolloutStage{byLabel("canary"), everyone, byPercent(100)}, 1},
		"by percent, before labels":      {"canary", []v1beta2.RolloutStage{byPercent(100), byLabel("canary")}, 0},
		"by labels, before percent":      {"canary", []v1beta2.RolloutStage{byLabel("canary"), byPercent(100)}, 0},
		"not by an invalid selector":     {"canary", []v1beta2.RolloutStage{unreadable, byLabel("canary")}, 1},
		"not by a count without a bound": {"", []v1beta2.RolloutStage{byCount(100)}, 1},
		"in the only stage":              {"canary", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
			if test.label != "" {
				kyma.Labels = map[string]string{"stage": test.label}
			}
			place := PlaceOf(rolloutOf(test.stages...), ClusterOf(kyma))
			require.Equal(t, test.want, place.Stage)
			require.Equal(t, Position("keda", newer, "1"), place.Position)
		})
	}
}

func TestAStageByPercentTakesItsShare(t *testing.T) {
	const n, tolerance = 10_000, 200
	fleet := fleetOf(n, nil)
	for name, test := range map[string]struct {
		stages []v1beta2.RolloutStage
		want   []int
	}{
		"a tenth":                      {[]v1beta2.RolloutStage{byPercent(10)}, []int{1000, 9000}},
		"half":                         {[]v1beta2.RolloutStage{byPercent(50)}, []int{5000, 5000}},
		"all":                          {[]v1beta2.RolloutStage{byPercent(100)}, []int{n, 0}},
		"a tenth, and half beyond it":  {[]v1beta2.RolloutStage{byPercent(10), byPercent(50)}, []int{1000, 5000, 4000}},
		"shares that are all together": {[]v1beta2.RolloutStage{byPercent(20), byPercent(30), byPercent(50)}, []int{2000, 3000, 5000, 0}},
		"shares that are more":         {[]v1beta2.RolloutStage{byPercent(70), byPercent(60), byPercent(50)}, []int{7000, 3000, 0, 0}},
		"one percent":                  {[]v1beta2.RolloutStage{byPercent(1)}, []int{100, 9900}},
	} {
		t.Run(name, func(t *testing.T) {
			found := sizes(rolloutOf(test.stages...), fleet)
			require.Len(t, found, len(test.want))
			for i, want := range test.want {
				require.InDelta(t, want, found[i], tolerance)
			}
			require.Equal(t, test.want[0] == n, found[0] == n, "100 percent are all clusters")
		})
	}
}

func TestAStageByCountTakesItsNumber(t *testing.T) {
	fleet := fleetOf(100, map[int]string{3: "canary", 30: "canary", 60: "canary"})
	share := sizes(rolloutOf(byPercent(30)), fleet)[0]
	for name, test := range map[string]struct {
		stages []v1beta2.RolloutStage
		want   []int
	}{
		"of all":                             {[]v1beta2.RolloutStage{byCount(5)}, []int{5, 95}},
		"of those without the labels":        {[]v1beta2.RolloutStage{byLabel("canary"), byCount(5)}, []int{3, 5, 92}},
		"and more":                           {[]v1beta2.RolloutStage{byCount(1), byCount(10), byCount(20)}, []int{1, 10, 20, 69}},
		"after a share":                      {[]v1beta2.RolloutStage{byPercent(30), byCount(7)}, []int{share, 7, 93 - share}},
		"all but one":                        {[]v1beta2.RolloutStage{byCount(99)}, []int{99, 1}},
		"exactly all":                        {[]v1beta2.RolloutStage{byCount(100)}, []int{100, 0}},
		"more than there are":                {[]v1beta2.RolloutStage{byCount(1000)}, []int{100, 0}},
		"the remaining ones, if fewer":       {[]v1beta2.RolloutStage{byCount(98), byCount(5), byCount(5)}, []int{98, 2, 0, 0}},
		"none, if a share takes all":         {[]v1beta2.RolloutStage{byPercent(100), byCount(5)}, []int{100, 0, 0}},
		"even with the label of a later one": {[]v1beta2.RolloutStage{byCount(100), byLabel("canary")}, []int{100, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rolloutOf(test.stages...)
			FixBounds(r, fleet)
			require.Equal(t, test.want, sizes(r, fleet))
			again := r.DeepCopy()
			FixBounds(again, fleet)
			require.Equal(t, r, again, "computing the bound again gives the same")
		})
	}
}

func TestAShareReachesBeyondTheCountBeforeIt(t *testing.T) {
	fleet := fleetOf(1000, nil)
	r := rolloutOf(byCount(500), byPercent(10))
	FixBounds(r, fleet)
	found := sizes(r, fleet)
	require.Equal(t, 500, found[0])
	require.InDelta(t, 100, found[1], 40)
}

func TestTheBoundOfACountIsFixedWhenTheRolloutBegins(t *testing.T) {
	fleet := fleetOf(50, nil)
	r := rolloutOf(byCount(10))
	FixBounds(r, fleet[:20])
	require.Equal(t, []int{10, 10}, sizes(r, fleet[:20]))

	FixBounds(r, fleet)
	require.Equal(t, []int{10, 40}, sizes(r, fleet), "before the beginning the bound follows the present clusters")

	fixed := r.Status.Stages[0].Bound
	r.Status.StartedAt = new(metav1.NewTime(begun))
	FixBounds(r, fleet[:20])
	require.Equal(t, fixed, r.Status.Stages[0].Bound, "no cluster changes its stage later")

	none := rolloutOf(byCount(10))
	FixBounds(none, nil)
	require.Equal(t, []int{20, 0}, sizes(none, fleet[:20]), "new clusters are in the stage that should have more")

	without := rolloutOf(byPercent(10))
	FixBounds(without, fleet)
	require.Empty(t, without.Status.Stages, "there is no bound to compute")
}

func TestTheOrderDiffersFromVersionToVersion(t *testing.T) {
	fleet := fleetOf(1000, nil)
	first := func(module, version string) map[types.UID]bool {
		r := rolloutOf(byCount(100))
		r.Spec.ModuleName, r.Spec.To = module, version
		FixBounds(r, fleet)
		found := map[types.UID]bool{}
		for _, c := range fleet {
			position := Position(module, version, c.UID)
			require.GreaterOrEqual(t, position, int64(0))
			require.Less(t, position, Everyone)
			if PlaceOf(r, c).Stage == 0 {
				found[c.UID] = true
			}
		}
		return found
	}
	common := func(a, b map[types.UID]bool) int {
		n := 0
		for uid := range a {
			if b[uid] {
				n++
			}
		}
		return n
	}
	these := first("keda", newer)
	require.Equal(t, these, first("keda", newer))
	require.Less(t, common(these, first("keda", "2.0.1")), 30, "about ten are expected by chance")
	require.Less(t, common(these, first("istio", newer)), 30)
}

func TestReleasedPlaces(t *testing.T) {
	for name, test := range map[string]struct {
		stage    int32
		released int64
		place    Place
		want     bool
	}{
		"nothing at first":                 {0, 0, Place{0, 0}, false},
		"below the mark":                   {0, 10, Place{0, 9}, true},
		"not at the mark":                  {0, 10, Place{0, 10}, false},
		"not in a later stage":             {0, Everyone, Place{1, 0}, false},
		"all of an earlier stage":          {1, 0, Place{0, Everyone - 1}, true},
		"not yet of the present one":       {1, 0, Place{1, 0}, false},
		"the last of a stage for everyone": {1, Everyone, Place{1, Everyone - 1}, true},
		"all at the end":                   {2, 0, Place{1, Everyone - 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rolloutOf(byLabel("canary"))
			r.Status.Stage, r.Status.Released = test.stage, test.released
			require.Equal(t, test.want, Released(r, test.place))
		})
	}
}
