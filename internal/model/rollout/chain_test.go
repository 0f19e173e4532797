package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// leg is a rollout with the stages canary and early, and the rest.
func leg(sequence int64, from, to string, with ...func(*v1beta2.ModuleRollout)) *v1beta2.ModuleRollout {
	r := rolloutOf(byLabel("canary"), byLabel("early"))
	r.Name, r.Spec.Sequence, r.Spec.From, r.Spec.To = from+"-"+to, sequence, from, to
	for _, one := range with {
		one(r)
	}
	return r
}

// upTo sets that a rollout has released its version to so many stages.
func upTo(stages int32) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Status.Phase, r.Status.Stage = v1beta2.RolloutProgressing, stages }
}

func ended(phase v1beta2.RolloutPhase, stages int32) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Status.Phase, r.Status.Stage = phase, stages }
}

func reverting(stages int32) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) {
		r.Status.Phase, r.Status.Stage, r.Status.Reverts = v1beta2.RolloutReverting, stages, true
	}
}

func atHand(r *v1beta2.ModuleRollout) { r.Spec.Policy = "" }

func deleted(r *v1beta2.ModuleRollout) { r.DeletionTimestamp = new(metav1.NewTime(begun)) }

func ofChannel(channel string) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Spec.Channel = channel }
}

func createdAfter(d time.Duration) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.CreationTimestamp = metav1.NewTime(begun.Add(d)) }
}

func named(name string) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Name = name }
}

func TestTheRolloutsInForceForAChannel(t *testing.T) {
	for name, test := range map[string]struct {
		all              []*v1beta2.ModuleRollout
		channel, desired string
		want             []string
	}{
		"none":                                     {nil, "regular", "2", nil},
		"the newest first":                         {[]*v1beta2.ModuleRollout{leg(1, "1", "2"), leg(3, "3", "4"), leg(2, "2", "3")}, "regular", "4", []string{"3-4", "2-3", "1-2"}},
		"ended ones too":                           {[]*v1beta2.ModuleRollout{leg(1, "1", "2", ended(v1beta2.RolloutCompleted, 3)), leg(2, "2", "3", ended(v1beta2.RolloutReverted, 0))}, "regular", "3", []string{"2-3", "1-2"}},
		"of the channel only":                      {[]*v1beta2.ModuleRollout{leg(1, "1", "2"), leg(2, "1", "3", ofChannel("fast"))}, "regular", "2", []string{"1-2"}},
		"of a mandatory module":                    {[]*v1beta2.ModuleRollout{leg(1, "1", "2"), leg(2, "1", "3", ofChannel(""))}, "", "3", []string{"1-3"}},
		"of a policy, whatever is assigned":        {[]*v1beta2.ModuleRollout{leg(1, "1", "2")}, "regular", "7", []string{"1-2"}},
		"of a policy, if nothing is assigned":      {[]*v1beta2.ModuleRollout{leg(1, "1", "2")}, "regular", "", []string{"1-2"}},
		"no policy, of the assigned version":       {[]*v1beta2.ModuleRollout{leg(0, "1", "2", atHand), leg(0, "2", "3", atHand)}, "regular", "3", []string{"2-3"}},
		"no policy, not of another version":        {[]*v1beta2.ModuleRollout{leg(0, "1", "2", atHand)}, "regular", "3", nil},
		"no policy, not if nothing is assigned":    {[]*v1beta2.ModuleRollout{leg(0, "1", "2", atHand)}, "regular", "", nil},
		"no policy, not besides one of a policy":   {[]*v1beta2.ModuleRollout{leg(9, "1", "3", atHand), leg(1, "1", "2")}, "regular", "3", []string{"1-2"}},
		"no policy, if the other is being deleted": {[]*v1beta2.ModuleRollout{leg(9, "1", "3", atHand), leg(1, "1", "2", deleted)}, "regular", "3", []string{"1-3"}},
		"no deleted one":                           {[]*v1beta2.ModuleRollout{leg(1, "1", "2"), leg(2, "2", "3", deleted)}, "regular", "3", []string{"1-2"}},
		"no policy, the newest one first": {[]*v1beta2.ModuleRollout{
			leg(0, "1", "3", atHand, createdAfter(time.Hour)), leg(0, "2", "3", atHand, createdAfter(2*time.Hour)),
		}, "regular", "3", []string{"2-3", "1-3"}},
		"created together, by name": {[]*v1beta2.ModuleRollout{leg(0, "1", "3", atHand, named("a")), leg(0, "2", "3", atHand, named("b"))}, "regular", "3", []string{"b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, r := range InForce(test.all, test.channel, test.desired) {
				names = append(names, r.Name)
			}
			require.Equal(t, test.want, names)
		})
	}
}

func TestTheVersionOfACluster(t *testing.T) {
	type rollouts = []*v1beta2.ModuleRollout
	completed, superseded, reverted, aborted := v1beta2.RolloutCompleted, v1beta2.RolloutSuperseded, v1beta2.RolloutReverted, v1beta2.RolloutAborted
	for name, test := range map[string]struct {
		all       rollouts
		label     string // the stage of the cluster
		desired   string
		installed string
		want      string
		takesBack bool
	}{
		"without a rollout is the assigned one":                       {nil, "", "2", "1", "2", false},
		"without a rollout, of a new cluster":                         {nil, "", "2", "", "2", false},
		"is the new one when it is released":                          {rollouts{leg(1, "1", "2", upTo(1))}, "canary", "2", "1", "2", false},
		"stays until it is released":                                  {rollouts{leg(1, "1", "2", upTo(1))}, "early", "2", "1", "1", false},
		"stays if nothing is released":                                {rollouts{leg(1, "1", "2")}, "canary", "2", "1", "1", false},
		"of a new cluster is the old one until it is released":        {rollouts{leg(1, "1", "2", upTo(1))}, "", "2", "", "1", false},
		"of a new cluster is the new one when it is released":         {rollouts{leg(1, "1", "2", upTo(1))}, "canary", "2", "", "2", false},
		"of a cluster from elsewhere is the old one":                  {rollouts{leg(1, "1", "2", upTo(1))}, "", "2", "0", "1", false},
		"is the new one at the end":                                   {rollouts{leg(1, "1", "2", ended(completed, 3))}, "", "2", "1", "2", false},
		"of a baseline is the first version":                          {rollouts{leg(1, "1", "1", ended(completed, 3))}, "", "1", "", "1", false},
		"stays when another is assigned, before its rollout":          {rollouts{leg(1, "1", "1", ended(completed, 3))}, "", "2", "1", "1", false},
		"stays if it is assigned again":                               {rollouts{leg(1, "1", "2", upTo(1))}, "canary", "1", "1", "1", false},
		"that is installed stays if an older one is assigned":         {rollouts{leg(1, "1", "2", upTo(1))}, "canary", "1", "2", "2", false},
		"is that of the rollout before":                               {rollouts{leg(1, "1", "2", ended(completed, 3)), leg(2, "2", "3", upTo(1))}, "early", "3", "2", "2", false},
		"is that of the rollout before, for a cluster behind it":      {rollouts{leg(1, "1", "2", ended(completed, 3)), leg(2, "2", "3", upTo(1))}, "early", "3", "1", "2", false},
		"skips the one in between":                                    {rollouts{leg(1, "1", "2", ended(superseded, 1)), leg(2, "2", "3", upTo(1))}, "canary", "3", "1", "3", false},
		"of a superseded rollout stays":                               {rollouts{leg(1, "1", "2", ended(superseded, 2)), leg(2, "2", "3", upTo(1))}, "early", "3", "2", "2", false},
		"of a superseded rollout still comes where it was released":   {rollouts{leg(1, "1", "2", ended(superseded, 2)), leg(2, "2", "3", upTo(1))}, "early", "3", "1", "2", false},
		"before a superseded rollout stays elsewhere":                 {rollouts{leg(1, "1", "2", ended(superseded, 2)), leg(2, "2", "3", upTo(1))}, "", "3", "1", "1", false},
		"of a superseded one in the middle":                           {rollouts{leg(1, "1", "2", ended(superseded, 2)), leg(2, "2", "3", ended(superseded, 1)), leg(3, "3", "4")}, "canary", "4", "3", "3", false},
		"of a superseded one before the middle":                       {rollouts{leg(1, "1", "2", ended(superseded, 2)), leg(2, "2", "3", ended(superseded, 1)), leg(3, "3", "4")}, "early", "4", "2", "2", false},
		"is the first of the oldest rollout":                          {rollouts{leg(1, "1", "2", ended(superseded, 2)), leg(2, "2", "3", ended(superseded, 1)), leg(3, "3", "4")}, "", "4", "", "1", false},
		"of an aborted rollout stays":                                 {rollouts{leg(1, "1", "2", ended(aborted, 1))}, "canary", "2", "2", "2", false},
		"of an aborted rollout does not come any more":                {rollouts{leg(1, "1", "2", ended(aborted, 1))}, "", "2", "1", "1", false},
		"is not reverted by a label change":                           {rollouts{leg(1, "1", "2", upTo(1))}, "", "2", "2", "2", false},
		"is not reverted by a label change, in a chain":               {rollouts{leg(1, "1", "2", ended(superseded, 1)), leg(2, "2", "3", upTo(0))}, "", "3", "2", "2", false},
		"comes earlier after a label change":                          {rollouts{leg(1, "1", "2", upTo(2))}, "early", "2", "1", "2", false},
		"is reverted by a revert":                                     {rollouts{leg(1, "1", "2", reverting(1))}, "early", "2", "2", "1", true},
		"stays until the revert reaches the cluster":                  {rollouts{leg(1, "1", "2", reverting(1))}, "canary", "2", "2", "2", false},
		"is not reverted if it is not the new one":                    {rollouts{leg(1, "1", "2", reverting(1))}, "early", "2", "1", "1", false},
		"is reverted later for a cluster that was away":               {rollouts{leg(1, "1", "2", reverting(0), ended(reverted, 0))}, "canary", "2", "2", "1", true},
		"is reverted to that of the rollout before":                   {rollouts{leg(1, "1", "2", ended(completed, 3)), leg(2, "2", "3", reverting(0))}, "canary", "3", "3", "2", true},
		"is reverted to one that a superseded rollout released":       {rollouts{leg(1, "1", "2", ended(superseded, 1)), leg(2, "2", "3", reverting(0))}, "canary", "3", "3", "2", true},
		"is reverted to the one before a superseded rollout":          {rollouts{leg(1, "1", "2", ended(superseded, 1)), leg(2, "2", "3", reverting(0))}, "early", "3", "3", "1", true},
		"is reverted further if the one before was reverted too":      {rollouts{leg(1, "1", "2", reverting(0), ended(reverted, 0)), leg(2, "1", "3", reverting(0))}, "canary", "3", "3", "1", true},
		"of a superseded revert is reverted":                          {rollouts{leg(1, "1", "2", reverting(1), ended(superseded, 1)), leg(2, "2", "3")}, "early", "3", "2", "1", true},
		"of a superseded revert stays if the revert did not reach it": {rollouts{leg(1, "1", "2", reverting(1), ended(superseded, 1)), leg(2, "2", "3")}, "canary", "3", "2", "2", false},
		"is new again when the channel goes back and forth":           {rollouts{leg(1, "1", "2", ended(completed, 3)), leg(2, "2", "1", upTo(1)), leg(3, "1", "2")}, "canary", "2", "1", "1", false},
		"that was never changed is not reverted":                      {rollouts{leg(1, "1", "2", ended(completed, 3)), leg(2, "2", "1", upTo(1)), leg(3, "1", "2")}, "early", "2", "2", "2", false},
		"becomes an older one by its rollout":                         {rollouts{leg(1, "1", "2", ended(completed, 3)), leg(2, "2", "1", upTo(1))}, "canary", "1", "2", "1", false},
		"does not become an older one before its release":             {rollouts{leg(1, "1", "2", ended(completed, 3)), leg(2, "2", "1", upTo(1))}, "early", "1", "2", "2", false},
		"after a deleted rollout is that of the rollout before":       {rollouts{leg(1, "1", "2", ended(completed, 3)), leg(2, "2", "3", upTo(1), deleted)}, "canary", "3", "2", "2", false},
		"after the only rollout was deleted is the assigned one":      {rollouts{leg(1, "1", "2", upTo(1), deleted)}, "", "2", "1", "2", false},
		"that is installed and assigned stays after a deletion":       {rollouts{leg(1, "1", "2", ended(completed, 3)), leg(2, "2", "3", upTo(1), deleted)}, "canary", "3", "3", "3", false},
		"without a policy comes when it is released":                  {rollouts{leg(0, "1", "2", atHand, upTo(1))}, "canary", "2", "1", "2", false},
		"without a policy stays until it is released":                 {rollouts{leg(0, "1", "2", atHand, upTo(1))}, "", "2", "1", "1", false},
		"without a policy is the assigned one before":                 {rollouts{leg(0, "1", "2", atHand)}, "", "1", "1", "1", false},
		"without a policy is the assigned one after":                  {rollouts{leg(0, "1", "2", atHand, upTo(1))}, "", "3", "1", "3", false},
		"without a policy, a second rollout continues the first":      {rollouts{leg(0, "1", "2", atHand, ended(aborted, 1)), leg(0, "1", "2", atHand, createdAfter(time.Hour))}, "canary", "2", "2", "2", false},
		"without a policy does not count besides a policy's":          {rollouts{leg(0, "1", "3", atHand, upTo(3)), leg(1, "1", "2", upTo(1))}, "", "3", "1", "1", false},
		"stays if nothing is assigned any more":                       {rollouts{leg(1, "1", "2", upTo(1))}, "canary", "", "2", "2", false},
		"stays elsewhere if nothing is assigned any more":             {rollouts{leg(1, "1", "2", upTo(1))}, "", "", "1", "1", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := Cluster{UID: "1"}
			if test.label != "" {
				c.Labels = map[string]string{"stage": test.label}
			}
			found := VersionFor(InForce(test.all, "regular", test.desired), test.desired, c, test.installed)
			require.Equal(t, Decision{Version: test.want, TakesBack: test.takesBack}, found)
		})
	}
}

func TestAMandatoryModuleHasARolloutWithoutAChannel(t *testing.T) {
	all := []*v1beta2.ModuleRollout{leg(1, "1", "2", ofChannel(""), upTo(1)), leg(2, "1", "3", upTo(3))}
	canary, other := Cluster{UID: "1", Labels: map[string]string{"stage": "canary"}}, Cluster{UID: "2"}
	require.Equal(t, "2", VersionFor(InForce(all, "", "2"), "2", canary, "1").Version)
	require.Equal(t, "1", VersionFor(InForce(all, "", "2"), "2", other, "1").Version)
	require.Equal(t, "3", VersionFor(InForce(all, "regular", "3"), "3", other, "1").Version)
	require.Equal(t, "7", VersionFor(InForce(all, "fast", "7"), "7", other, "1").Version)
}

func TestWithinAStageTheFirstPositionsGoFirst(t *testing.T) {
	fleet := fleetOf(100, nil)
	r := leg(1, "1", "2")
	r.Status.Stage, r.Status.Released = 2, Everyone/2
	before, after := 0, 0
	for _, c := range fleet {
		if Position("keda", "2", c.UID) < Everyone/2 {
			require.Equal(t, "2", VersionFor(InForce([]*v1beta2.ModuleRollout{r}, "regular", "2"), "2", c, "1").Version)
			before++
			continue
		}
		require.Equal(t, "1", VersionFor(InForce([]*v1beta2.ModuleRollout{r}, "regular", "2"), "2", c, "1").Version)
		after++
	}
	require.Positive(t, before)
	require.Positive(t, after)
}

func TestOnlyANewerRolloutSupersedes(t *testing.T) {
	for name, test := range map[string]struct {
		r, than *v1beta2.ModuleRollout
		want    bool
	}{
		"of a later sequence":                   {leg(2, "2", "3"), leg(1, "1", "2"), true},
		"of a later sequence, created before":   {leg(2, "2", "3"), leg(1, "1", "2", createdAfter(time.Hour)), true},
		"of an earlier sequence, created later": {leg(1, "1", "2", createdAfter(time.Hour)), leg(2, "2", "3"), false},
		"made later":                            {leg(0, "1", "2", createdAfter(time.Hour)), leg(0, "2", "3"), true},
		"made at the same time, by its name":    {leg(0, "1", "2", named("b")), leg(0, "2", "3", named("a")), true},
		"made at the same time, not by names":   {leg(0, "1", "2", named("a")), leg(0, "2", "3", named("b")), false},
		"itself":                                {leg(1, "1", "2"), leg(1, "1", "2"), false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, IsNewer(test.r, test.than)) })
	}
}

// A cluster may be on its way back from a bad version. A newer rollout of a lower version must not leave it on the bad
// version.
func TestANewerRolloutDoesNotStopTheRevertOfACluster(t *testing.T) {
	bad := &v1beta2.ModuleRollout{Spec: v1beta2.ModuleRolloutSpec{ModuleName: "keda", Channel: "regular", Policy: "p", From: "1.0.0", To: "1.2.0", Sequence: 2}}
	bad.Status.Reverts = true
	back := &v1beta2.ModuleRollout{Spec: v1beta2.ModuleRolloutSpec{ModuleName: "keda", Channel: "regular", Policy: "p", From: "1.0.0", To: "1.0.0", Sequence: 3}}
	back.Status.Stage = 1
	inForce := InForce([]*v1beta2.ModuleRollout{bad, back}, "regular", "1.0.0")
	require.Equal(t, Decision{Version: "1.0.0", TakesBack: true}, VersionFor(inForce, "1.0.0", Cluster{UID: "a"}, "1.2.0"))
	require.Equal(t, Decision{Version: "1.0.0"}, VersionFor(inForce, "1.0.0", Cluster{UID: "a"}, "1.0.0"))
}
