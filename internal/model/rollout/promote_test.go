package rollout

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// promotable has the arguments of Promote: a completed rollout of 1.2.3 to the channel fast, healthy since then, and
// the channel regular with an older version. One cluster of each stage may have failed.
type promotable struct {
	*v1beta2.ModuleRollout
	s    Situation
	next NextChannel
}

// promotion is one evaluation of a promotion.
type promotion struct {
	// fleet is as in evaluation; all clusters are ready by default.
	fleet string
	// at is how long after the rollout completed.
	at time.Duration
	// from is the version of the next channel, 1.2.0 by default: a patch.
	from string
	with []func(*promotable)

	waits, ended string
	// until is when to evaluate again, 0 means never.
	until time.Duration
	due   bool
	// unwell is true if the clock does not run.
	unwell bool
	change v1beta2.VersionChange
}

const day = 24 * time.Hour

func (p promotion) before() promotable {
	r := rolloutOf(byLabel("canary"))
	r.Name, r.Spec.Channel, r.Spec.From, r.Spec.To = "keda-fast-1.2.3", "fast", "1.2.2", "1.2.3"
	r.Spec.Plan.MaxFailures = new(intstr.FromInt32(1))
	r.Spec.Plan.Promotion = &v1beta2.RolloutPromotion{Channels: []string{"fast", "regular"}}
	r.Status = v1beta2.ModuleRolloutStatus{
		Phase: v1beta2.RolloutCompleted, Stage: 2, CompletedAt: new(metav1.NewTime(begun)),
		Promotion: &v1beta2.RolloutPromotionStatus{ToChannel: "regular", Since: new(metav1.NewTime(begun))},
	}
	g := promotable{r, Situation{Now: begun.Add(p.at), Desired: "1.2.3"}, NextChannel{Version: cmp.Or(p.from, "1.2.0")}}
	for _, with := range p.with {
		with(&g)
	}
	return g
}

// decide checks an evaluation, and what must hold after every evaluation.
func (p promotion) decide(t *testing.T) v1beta2.ModuleRolloutStatus {
	t.Helper()
	g, o := p.before(), seen(cmp.Or(p.fleet, "rr/rrrr"))
	unchanged := g.DeepCopy()
	status, until, due := Promote(g.ModuleRollout, o, g.s, g.next)
	require.Equal(t, unchanged, g.ModuleRollout, "Promote must not change its arguments")

	now := status.Promotion
	require.Equal(t, p.due, due, status.WaitsFor)
	require.Contains(t, now.Ended, p.ended)
	require.Equal(t, p.ended == "", now.Ended == "", now.Ended)
	require.Contains(t, status.WaitsFor, p.waits)
	require.Equal(t, p.waits == "", status.WaitsFor == "", status.WaitsFor)
	require.Equal(t, p.waits == "", status.WaitsSince == nil)
	if p.until == 0 {
		require.Zero(t, until)
		require.Nil(t, status.WaitsUntil)
	} else {
		require.Equal(t, p.until, until.Sub(g.s.Now))
		require.Equal(t, p.until, status.WaitsUntil.Sub(g.s.Now))
	}
	require.Equal(t, p.unwell, now.Since == nil)
	if p.change != "" {
		require.Equal(t, p.change, now.Change)
	}
	require.Equal(t, "regular", now.ToChannel)
	require.Equal(t, v1beta2.RolloutCompleted, status.Phase, "the rollout stays completed")
	require.True(t, meta.IsStatusConditionTrue(status.Conditions, ConditionReady))
	require.Len(t, status.Conditions, 1)
	after := &v1beta2.ModuleRollout{Spec: g.Spec, Status: status}
	require.Equal(t, now.Ended == "", after.IsAtWork())
	require.Equal(t, due || g.next.Promoted, now.PromotedAt != nil)
	return status
}

func promoteBy(change func(*v1beta2.RolloutPromotion)) func(*promotable) {
	return func(p *promotable) { change(p.Spec.Plan.Promotion) }
}

func approvalOf(rule v1beta2.PromotionApproval, persons int32) func(*promotable) {
	return promoteBy(func(p *v1beta2.RolloutPromotion) { p.Approval, p.Persons = rule, persons })
}

func promotionApprovedBy(persons ...string) func(*promotable) {
	return func(p *promotable) {
		for _, person := range persons {
			p.Spec.Approvals = append(p.Spec.Approvals, v1beta2.RolloutApproval{Stage: ApprovePromotion, By: person})
		}
	}
}

func promotionAllowing(n int32) func(*promotable) {
	return func(p *promotable) { p.Spec.AcceptFailures = n }
}

func promotionDesired(version string) func(*promotable) {
	return func(p *promotable) { p.s.Desired = version }
}

func promotionPaused(p *promotable) { p.Spec.Paused = true }

func beginning(p *promotable) { p.Status.Promotion = nil }

func notWellBefore(p *promotable) { p.Status.Promotion.Since = nil }

func changing(version string) func(*promotable) {
	return func(p *promotable) { p.next.Changing = version }
}

func promotionAfter(patch, minor, major time.Duration) func(*promotable) {
	return promoteBy(func(p *v1beta2.RolloutPromotion) {
		p.After = v1beta2.PromotionTimes{Patch: &metav1.Duration{Duration: patch}, Minor: &metav1.Duration{Duration: minor}, Major: &metav1.Duration{Duration: major}}
	})
}

func TestTheWaitOfAPromotionDependsOnTheKindOfChange(t *testing.T) {
	got, stay := "channel regular got the version", "the clusters to stay well for "
	patch, minor, major := v1beta2.ChangePatch, v1beta2.ChangeMinor, v1beta2.ChangeMajor
	own := promotionAfter(time.Hour, 2*time.Hour, 3*time.Hour)
	free := approvalOf(v1beta2.ApproveNone, 0)
	promoteAll(t, map[string]promotion{
		"a patch within its day":             {at: day - time.Second, waits: stay + "24h0m0s, before channel regular gets the version, a patch change", until: time.Second, change: patch},
		"a patch after a day":                {at: day, due: true, ended: got, change: patch},
		"a patch long after":                 {at: 30 * day, due: true, ended: got, change: patch},
		"a minor version within its week":    {from: "1.1.9", at: 2 * day, waits: stay + "168h0m0s", until: 5 * day, change: minor},
		"a minor version after a week":       {from: "1.1.9", at: 7 * day, due: true, ended: got, change: minor},
		"a major version within two weeks":   {from: "0.9.0", at: 7 * day, waits: stay + "336h0m0s", until: 7 * day, change: major, with: []func(*promotable){free}},
		"a major version after two weeks":    {from: "0.9.0", at: 14 * day, due: true, ended: got, change: major, with: []func(*promotable){free}},
		"a patch with the plan's time":       {at: time.Hour, due: true, ended: got, with: []func(*promotable){own}},
		"a minor one with the plan's time":   {from: "1.0.0", at: time.Hour, waits: stay + "2h0m0s", until: time.Hour, with: []func(*promotable){own}},
		"a major one with the plan's time":   {from: "0.1.0", at: 3 * time.Hour, due: true, ended: got, with: []func(*promotable){own, free}},
		"a pre-release before":               {from: "1.2.3-rc.1", at: day, due: true, ended: got, change: patch},
		"no time at all, in the next step":   {at: 0, due: true, ended: got, with: []func(*promotable){promotionAfter(0, 0, 0)}},
		"the clock begins with the first":    {at: 9 * day, waits: stay, until: day, with: []func(*promotable){beginning}},
		"the next channel already has it":    {from: "1.2.3", at: time.Minute, ended: "channel regular has the version already"},
		"spelled differently":                {from: "v1.2.3", at: time.Minute, ended: "channel regular has version v1.2.3, which is the same version"},
		"the next channel has a newer patch": {from: "1.2.4", at: day, ended: "channel regular has version 1.2.4, which is newer"},
		"the next channel has a newer major": {from: "2.0.0-rc.1", at: day, ended: "channel regular has version 2.0.0-rc.1, which is newer"},
		"the next channel has its release":   {from: "1.2.3", at: day, ended: "which is newer", with: []func(*promotable){promotionDesired("1.2.3-rc.1"), func(p *promotable) { p.Spec.To = "1.2.3-rc.1" }}},
		"the next channel has no semver":     {from: "initial", at: day, ended: "channel regular has version initial, which is not a semantic version"},
		"the version is no semver":           {at: day, ended: "and latest is not a semantic version", with: []func(*promotable){promotionDesired("latest"), func(p *promotable) { p.Spec.To = "latest" }}},
		"there is no next channel":           {at: day, ended: "the ModuleReleaseMeta of module keda has no channel regular", with: []func(*promotable){func(p *promotable) { p.next.Version = "" }}},
	})
}

func hotFix(p *promotable) { p.s.HotFix = true }

func hotFixAfter(after time.Duration) func(*promotable) {
	return promoteBy(func(p *v1beta2.RolloutPromotion) { p.After.HotFix = &metav1.Duration{Duration: after} })
}

func TestAHotFixWaitsLessAndNeedsTheSameApprovals(t *testing.T) {
	const got = "channel regular got the version"
	with := func(all ...func(*promotable)) []func(*promotable) { return all }
	hour := hotFixAfter(time.Hour)
	unclear := func(p *promotable) {
		p.s.Urgency = UrgencyOf(&v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{
			Name: "keda-1.2.3", Annotations: map[string]string{shared.AnnotationPriority: "urgent"},
		}})
	}
	for name, test := range map[string]struct {
		promotion
		priority string
	}{
		"within its time": {promotion{
			with: with(hotFix, hour), until: time.Hour,
			waits: "the clusters to stay well for 1h0m0s instead of 24h0m0s, before channel regular gets the version, a patch change and a hot-fix",
		}, "hot-fix"},
		"after its time": {promotion{
			at: time.Hour, with: with(hotFix, hour), due: true, ended: got + ", a hot-fix, which waits 1h0m0s instead of 24h0m0s",
		}, "hot-fix"},
		"of a minor version": {promotion{from: "1.1.0", at: time.Hour, with: with(hotFix, hour), due: true, ended: "1h0m0s instead of 168h0m0s"}, "hot-fix"},
		"of a major version that needs an approval": {promotion{
			from: "0.9.0", at: time.Hour, with: with(hotFix, hour), waits: "the approval of the promotion to channel regular by one more person",
		}, "hot-fix"},
		"of a patch that needs an approval": {promotion{
			at: day, with: with(hotFix, hour, approvalOf(v1beta2.ApproveAll, 1)), waits: "the approval of the promotion",
		}, "hot-fix"},
		"under a plan without a time for it": {promotion{
			at: time.Hour, with: with(hotFix), until: 23 * time.Hour,
			waits: "for 24h0m0s, before channel regular gets the version, a patch change and a hot-fix, for which the plan has no time of its own (promotion.after.hotFix)",
		}, "hot-fix"},
		"under a plan in which it would be longer": {promotion{at: day, with: with(hotFix, hotFixAfter(2*day)), due: true, ended: got}, "hot-fix"},
		"with unhealthy clusters":                  {promotion{fleet: "rr/ffrr", at: day, with: with(hotFix, hour), unwell: true, waits: "to be well again"}, "hot-fix"},
		"a version that is not a hot-fix":          {promotion{at: time.Hour, with: with(hour), until: 23 * time.Hour, waits: "for 24h0m0s, before"}, ""},
		"a version that no longer is a hot-fix": {promotion{
			at: time.Hour, with: with(hour, func(p *promotable) { p.Status.Promotion.Priority = "hot-fix" }), until: 23 * time.Hour, waits: "for 24h0m0s, before",
		}, ""},
		"a version with an invalid priority": {promotion{
			at: time.Hour, with: with(hour, unclear), until: 23 * time.Hour,
			waits: `a patch change; annotation operator.kyma-project.io/priority of ModuleTemplate keda-1.2.3 has no effect: "urgent" is not a priority: use hot-fix or regular`,
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status := test.decide(t)
			require.Equal(t, test.priority, status.Promotion.Priority)
			if test.due && test.from == "" {
				require.Equal(t, test.ended != got, strings.Contains(status.Promotion.Ended, "hot-fix"))
			}
		})
	}
}

func promoteAll(t *testing.T, all map[string]promotion) {
	t.Helper()
	for name, p := range all {
		t.Run(name, func(t *testing.T) { p.decide(t) })
	}
}

func TestAPromotionWaitsForApprovals(t *testing.T) {
	got, one, two := "channel regular got the version", "the approval of the promotion to channel regular by one more person", "the approval of the promotion to channel regular by 2 more persons"
	with := func(all ...func(*promotable)) []func(*promotable) { return all }
	promoteAll(t, map[string]promotion{
		"for a major version by default":          {from: "0.9.0", at: 14 * day, waits: one},
		"and says so from the beginning":          {from: "0.9.0", at: 13 * day, waits: "; and for " + one, until: day},
		"and once it is approved":                 {from: "0.9.0", at: 14 * day, with: with(promotionApprovedBy("anna")), due: true, ended: got},
		"but no sooner":                           {from: "0.9.0", at: 13 * day, with: with(promotionApprovedBy("anna")), waits: "a major change", until: day},
		"for two":                                 {from: "0.9.0", at: 14 * day, with: with(approvalOf(v1beta2.ApproveMajor, 2)), waits: two},
		"for the second":                          {from: "0.9.0", at: 14 * day, with: with(approvalOf(v1beta2.ApproveMajor, 2), promotionApprovedBy("anna", "anna")), waits: one},
		"until both have":                         {from: "0.9.0", at: 14 * day, with: with(approvalOf(v1beta2.ApproveMajor, 2), promotionApprovedBy("anna", "bob")), due: true, ended: got},
		"an unsigned one does not count":          {from: "0.9.0", at: 14 * day, with: with(promotionApprovedBy("")), waits: one},
		"one for a stage does not count":          {from: "0.9.0", at: 14 * day, with: with(func(p *promotable) { p.Spec.Approvals = []v1beta2.RolloutApproval{{Stage: "canary", By: "anna"}} }), waits: one},
		"not if approvals are not possible":       {from: "0.9.0", at: 14 * day, with: with(promotionApprovedBy("anna"), func(p *promotable) { p.s.NoApprovals = "there is no webhook" }), waits: one + "; approvals are not possible: there is no webhook"},
		"not for a minor version by default":      {from: "1.1.0", at: 7 * day, due: true, ended: got},
		"for a minor version if the plan says so": {from: "1.1.0", at: 7 * day, with: with(approvalOf(v1beta2.ApproveMinor, 1)), waits: one},
		"and then for a major one too":            {from: "0.1.0", at: 14 * day, with: with(approvalOf(v1beta2.ApproveMinor, 1)), waits: one},
		"but not for a patch":                     {at: day, with: with(approvalOf(v1beta2.ApproveMinor, 1)), due: true, ended: got},
		"for a patch if all need it":              {at: day, with: with(approvalOf(v1beta2.ApproveAll, 1)), waits: one},
		"for no major version if none needs it":   {from: "0.1.0", at: 14 * day, with: with(approvalOf(v1beta2.ApproveNone, 3)), due: true, ended: got},
	})
}

func TestWaitsAndEndsOfAPromotion(t *testing.T) {
	got, stay := "channel regular got the version", "the clusters to stay well for 24h0m0s"
	with := func(all ...func(*promotable)) []func(*promotable) { return all }
	promoteAll(t, map[string]promotion{
		"as many have failed as allowed":  {fleet: "rf/rrfr", at: day, due: true, ended: got},
		"more have failed":                {fleet: "rr/ffrr", at: day, unwell: true, waits: "the clusters of stage rest to be well again: 2 of 4 have failed (allowed: 1)"},
		"more have failed after all":      {fleet: "rr/ffrr", at: 30 * day, unwell: true, waits: "to be well again"},
		"more, but accepted":              {fleet: "rr/ffrr", at: day, with: with(promotionAllowing(1)), due: true, ended: got},
		"more than accepted":              {fleet: "rr/fffr", at: day, with: with(promotionAllowing(1)), unwell: true, waits: "3 of 4 have failed (allowed: 2)"},
		"the clock starts again":          {at: 3 * day, with: with(notWellBefore), waits: stay, until: day},
		"others do not matter":            {fleet: "ww/xxbu", at: day, due: true, ended: got},
		"no cluster is left":              {fleet: "/", at: day, due: true, ended: got},
		"it is paused":                    {at: day, with: with(promotionPaused), waits: "spec.paused to be set to false"},
		"it is paused long before":        {at: time.Minute, with: with(promotionPaused), waits: "spec.paused to be set to false"},
		"it is paused, and not well":      {fleet: "ff/rrrr", at: day, with: with(promotionPaused), unwell: true, waits: "to be well again"},
		"the next channel is busy":        {at: day, with: with(changing("1.2.1")), waits: "the rollout of version 1.2.1 to channel regular to end"},
		"it is busy before that":          {at: time.Hour, with: with(changing("1.2.1")), waits: stay, until: 23 * time.Hour},
		"it is busy with this version":    {from: "1.2.3", at: day, with: with(changing("1.2.3")), ended: "channel regular has the version already"},
		"its version is unclear":          {at: day, with: with(func(p *promotable) { p.next = NextChannel{Unclear: "one ModuleReleaseMeta"} }), waits: "one ModuleReleaseMeta"},
		"superseded":                      {at: day, with: with(func(p *promotable) { p.s.Superseded = true }), ended: "a newer rollout of channel fast has superseded this one"},
		"superseded while paused":         {at: day, with: with(promotionPaused, func(p *promotable) { p.s.Superseded = true }), ended: "superseded"},
		"aborted":                         {at: day, with: with(func(p *promotable) { p.Spec.Abort = true }), ended: "spec.abort is set"},
		"to be reverted":                  {at: day, with: with(func(p *promotable) { p.Spec.Revert = v1beta2.RevertAll }), ended: "spec.revert is set"},
		"its channel has another version": {at: day, with: with(promotionDesired("1.3.0")), ended: "channel fast has version 1.3.0 now"},
		"its channel has none":            {at: day, with: with(promotionDesired("")), waits: "the ModuleReleaseMeta of module keda to give channel fast a version"},
		"done, but not recorded":          {from: "1.2.3", at: day, with: with(func(p *promotable) { p.next.Promoted = true }), ended: got},
		"done, and then undone":           {from: "1.2.0", at: day, with: with(func(p *promotable) { p.next.Promoted = true }), ended: got},
		"done, and superseded just now":   {at: day, with: with(func(p *promotable) { p.next.Promoted, p.s.Superseded = true, true }), ended: got},
	})
}

func TestTheClockOfAPromotionStartsWhenTheClustersAreHealthy(t *testing.T) {
	g := promotion{with: []func(*promotable){beginning}}.before()
	step := func(after time.Duration, fleet string) bool {
		g.s.Now = begun.Add(after)
		status, _, due := Promote(g.ModuleRollout, seen(fleet), g.s, g.next)
		g.Status = status
		return due
	}
	require.False(t, step(0, "rr/rrrr"))
	require.Equal(t, begun, g.Status.Promotion.Since.Time)
	require.Equal(t, begun.Add(day), g.Status.Promotion.Until.Time)
	require.False(t, step(12*time.Hour, "rr/ffrr"))
	require.Nil(t, g.Status.Promotion.Since)
	require.Nil(t, g.Status.Promotion.Until)
	require.Nil(t, g.Status.WaitsUntil)
	require.False(t, step(13*time.Hour, "rr/frrr"))
	require.False(t, step(day, "rr/rrrr"))
	require.Equal(t, begun.Add(13*time.Hour), g.Status.Promotion.Since.Time)
	require.True(t, step(37*time.Hour, "rr/rrrr"))
	require.Equal(t, begun.Add(37*time.Hour), g.Status.Promotion.PromotedAt.Time)
	require.False(t, g.IsAtWork())
}

// From the status after that step, the next step knows whether the version was promoted.
func TestTheStepThatBeginsAPromotionDoesNotEndIt(t *testing.T) {
	g := promotion{with: []func(*promotable){beginning, promotionAfter(0, 0, 0)}}.before()
	status, until, due := Promote(g.ModuleRollout, seen("rr/rrrr"), g.s, g.next)
	require.False(t, due)
	require.Equal(t, g.s.Now, until)
	g.Status = status
	_, _, due = Promote(g.ModuleRollout, seen("rr/rrrr"), g.s, g.next)
	require.True(t, due)
}

func TestAClusterNewInTheChannelDoesNotCountForThePromotion(t *testing.T) {
	g, o := promotion{at: day}.before(), seen("rr/ffff")
	o.Stages[1].NotStarted = 3
	_, _, due := Promote(g.ModuleRollout, o, g.s, g.next)
	require.True(t, due)
}

func TestRolloutsThatArePromoted(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1beta2.ModuleRollout)
		next   string
	}{
		"one of the first channel":              {func(*v1beta2.ModuleRollout) {}, "regular"},
		"one of the second of three":            {func(r *v1beta2.ModuleRollout) { r.Spec.Plan.Promotion.Channels = []string{"edge", "fast", "slow"} }, "slow"},
		"not one of the last":                   {func(r *v1beta2.ModuleRollout) { r.Spec.Channel = "regular" }, ""},
		"not one of another channel":            {func(r *v1beta2.ModuleRollout) { r.Spec.Channel = "edge" }, ""},
		"not one of a mandatory module":         {func(r *v1beta2.ModuleRollout) { r.Spec.Channel = "" }, ""},
		"not the first one of a policy":         {func(r *v1beta2.ModuleRollout) { r.Spec.From = r.Spec.To }, ""},
		"not one without promotion in its plan": {func(r *v1beta2.ModuleRollout) { r.Spec.Plan.Promotion = nil }, ""},
	} {
		r := promotion{}.before().ModuleRollout
		test.change(r)
		require.Equal(t, test.next, r.NextChannel(), name)
		require.Equal(t, test.next != "", r.IsBeingPromoted(), name)
		for _, phase := range []v1beta2.RolloutPhase{v1beta2.RolloutHeld, v1beta2.RolloutReverted, v1beta2.RolloutAborted, v1beta2.RolloutSuperseded, ""} {
			r.Status.Phase = phase
			require.False(t, r.IsBeingPromoted(), name)
			require.Equal(t, !r.HasEnded(), r.IsAtWork())
		}
	}
}

func TestThePromotionReasonNamesExactlyOneRollout(t *testing.T) {
	g := promotion{with: []func(*promotable){promotionApprovedBy("anna", "bob")}}.before()
	reason := PromotionReason(g.ModuleRollout, g.s)
	require.Equal(t, "keda 1.2.3 from fast to regular: ModuleRollout keda-fast-1.2.3 completed 2026-03-02T08:00:00Z, well since 2026-03-02T08:00:00Z, approved by anna, bob", reason)
	require.True(t, IsPromoted(g.ModuleRollout, reason))
	g.s.NoApprovals = "there is no webhook"
	unsigned := PromotionReason(g.ModuleRollout, g.s)
	require.NotContains(t, unsigned, "anna", "anyone could have written the name")
	require.True(t, IsPromoted(g.ModuleRollout, unsigned))

	require.False(t, IsPromoted(g.ModuleRollout, ""))
	for name, change := range map[string]func(*v1beta2.ModuleRollout){
		"of another version":                 func(r *v1beta2.ModuleRollout) { r.Spec.To = "1.2.4" },
		"of another name":                    func(r *v1beta2.ModuleRollout) { r.Name += "4" },
		"a recreated one":                    func(r *v1beta2.ModuleRollout) { r.Status.CompletedAt = new(metav1.NewTime(begun.Add(time.Second))) },
		"to another channel":                 func(r *v1beta2.ModuleRollout) { r.Spec.Plan.Promotion.Channels[1] = "slow" },
		"one with a deleted completion time": func(r *v1beta2.ModuleRollout) { r.Status.CompletedAt = nil },
	} {
		other := g.DeepCopy()
		change(other)
		require.False(t, IsPromoted(other, reason), name)
	}
}
