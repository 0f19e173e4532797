package rollout

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ApprovePromotion is the name under which people approve a promotion, in place of a stage's name.
const ApprovePromotion = "promotion"

// Default times of a promotion, as in the schema. A rollout without a policy may lack the schema's defaults.
const (
	defaultAfterPatch = 24 * time.Hour
	defaultAfterMinor = 7 * 24 * time.Hour
	defaultAfterMajor = 14 * 24 * time.Hour
)

// Urgency says how urgent a version is, from its ModuleTemplate.
type Urgency struct {
	// HotFix is true if the version is a hot-fix.
	HotFix bool
	// Unclear says why the annotation has no effect; empty if the annotation is valid.
	Unclear string
}

// UrgencyOf reads the annotation of a template.
func UrgencyOf(template *v1beta2.ModuleTemplate) Urgency {
	hotFix, err := shared.IsHotFix(template.Annotations)
	if err != nil {
		return Urgency{Unclear: fmt.Sprintf("annotation %s of ModuleTemplate %s has no effect: %v", shared.AnnotationPriority, template.Name, err)}
	}
	return Urgency{HotFix: hotFix}
}

// NextChannel has the facts about the channel to which a version is promoted.
type NextChannel struct {
	// Unclear says why the facts are not known; empty if they are.
	Unclear string
	// Version is the version that the ModuleReleaseMeta assigns to the channel; empty if it assigns none.
	Version string
	// Changing is the version that the channel's newest rollout brings, or will bring, to its clusters; empty if that
	// rollout has ended.
	Changing string
	// Promoted is true if the ModuleReleaseMeta records that this rollout's version was promoted to the channel.
	Promoted bool
}

// Promote returns the next status of a completed rollout with a version that should move to the next channel. The
// rollout must have the status that Decide returned. Until is when to evaluate again if nothing changes. Due is true if
// the ModuleReleaseMeta must now assign the version to the next channel; then the status is already that after the
// promotion.
//
// The step that begins a promotion does not end it. So the promotion is recorded in the status of the rollout before it
// is recorded in the ModuleReleaseMeta.
func Promote(r *v1beta2.ModuleRollout, o Observed, s Situation, next NextChannel) (
	status v1beta2.ModuleRolloutStatus, until time.Time, due bool,
) {
	p := &promoter{next: next, decider: decider{rollout: r, o: o, Situation: s, status: *r.Status.DeepCopy()}}
	p.now = metav1.NewTime(s.Now.UTC().Truncate(time.Second))
	p.begins = p.status.Promotion == nil
	if p.begins {
		p.status.Promotion = &v1beta2.RolloutPromotionStatus{}
	}
	p.status.Promotion.ToChannel = r.NextChannel()
	due = p.promote()
	p.setConditions()
	return p.status, p.until, due
}

type promoter struct {
	decider
	next   NextChannel
	begins bool
}

// promote reports whether the next channel must get the version now.
func (p *promoter) promote() bool {
	spec, to := p.rollout.Spec, p.status.Promotion.ToChannel
	switch {
	case p.next.Promoted:
		p.promoted()
	case p.Superseded:
		p.stop(fmt.Sprintf("a newer rollout of channel %s has superseded this one", spec.Channel))
	case spec.Abort:
		p.stop("spec.abort is set")
	case spec.Revert != "":
		p.stop("spec.revert is set")
	case p.next.Unclear != "":
		p.waitFor(p.next.Unclear)
	case p.Desired == "":
		p.waitFor(fmt.Sprintf("the ModuleReleaseMeta of module %s to give channel %s a version", spec.ModuleName, spec.Channel))
	case p.Desired != spec.To:
		p.stop(fmt.Sprintf("channel %s has version %s now", spec.Channel, p.Desired))
	case p.next.Version == "":
		p.stop(fmt.Sprintf("the ModuleReleaseMeta of module %s has no channel %s", spec.ModuleName, to))
	case p.next.Version == spec.To:
		p.stop(fmt.Sprintf("channel %s has the version already", to))
	default:
		change, why := changeOf(p.next.Version, spec.To)
		if p.status.Promotion.Change = change; why != "" {
			p.stop(fmt.Sprintf("channel %s has version %s, %s", to, p.next.Version, why))
			return false
		}
		p.status.Promotion.Priority = ""
		if p.HotFix {
			p.status.Promotion.Priority = shared.PriorityHotFix
		}
		return p.isDue()
	}
	return false
}

// isDue waits for the clusters, for time and for approvals. It reports whether there is nothing left to wait for.
func (p *promoter) isDue() bool {
	now := p.status.Promotion
	if why := p.unwell(); why != "" {
		now.Since, now.Until = nil, nil
		p.waitFor(why)
		return false
	}
	after, otherwise := waitOf(p.rollout.Spec.Plan.Promotion, now)
	now.Since = cmp.Or(now.Since, &p.now)
	now.Until = &metav1.Time{Time: now.Since.Add(after)}
	people := p.people()
	switch {
	case p.rollout.Spec.Paused:
		p.waitFor("spec.paused to be set to false, before channel " + now.ToChannel + " gets the version")
	case p.begins || p.Now.Before(now.Until.Time):
		what := fmt.Sprintf("the clusters to stay well for %s, before channel %s gets the version, %s",
			inWords(after, otherwise), now.ToChannel, p.kind())
		if people != "" {
			what += "; and for " + people
		}
		p.wait(v1beta2.RolloutCompleted, what, now.Until.Time)
	case people != "":
		p.waitFor(people)
	case p.next.Changing != "":
		p.waitFor(fmt.Sprintf("the rollout of version %s to channel %s to end", p.next.Changing, now.ToChannel))
	default:
		p.promoted()
		return true
	}
	return false
}

// unwell says why the version is not healthy in its own channel; empty if it is. A cluster that does not have the
// version, for example because it has just joined the channel, does not count.
func (p *promoter) unwell() string {
	for i, stage := range p.o.Stages {
		plan := planOf(p.rollout.Spec, i, stage.Total)
		if bad, may := stage.Failed-stage.NotStarted, plan.maxFailures+p.rollout.Spec.AcceptFailures; bad > may {
			return fmt.Sprintf("the clusters of stage %s to be well again: %d of %d have failed (allowed: %d)", plan.Name, bad, stage.Total, may)
		}
	}
	return ""
}

// waitOf returns how long the clusters must stay healthy, and how long that would be if the version were not a hot-fix.
func waitOf(plan *v1beta2.RolloutPromotion, status *v1beta2.RolloutPromotionStatus) (after, otherwise time.Duration) {
	times := plan.After
	switch status.Change {
	case v1beta2.ChangePatch:
		otherwise = duration(defaultAfterPatch, times.Patch)
	case v1beta2.ChangeMinor:
		otherwise = duration(defaultAfterMinor, times.Minor)
	case v1beta2.ChangeMajor:
		otherwise = duration(defaultAfterMajor, times.Major)
	default:
		otherwise = duration(defaultAfterMajor, times.Major)
	}
	if status.Priority != shared.PriorityHotFix {
		return otherwise, otherwise
	}
	return min(otherwise, duration(otherwise, times.HotFix)), otherwise
}

// inWords formats a wait, and says by how much a hot-fix has shortened it.
func inWords(after, otherwise time.Duration) string {
	if after == otherwise {
		return after.String()
	}
	return fmt.Sprintf("%s instead of %s", after, otherwise)
}

// kind describes what determines how long the clusters must stay healthy.
func (p *promoter) kind() string {
	kind := fmt.Sprintf("a %s change", p.status.Promotion.Change)
	if p.HotFix {
		kind += " and a hot-fix"
		if p.rollout.Spec.Plan.Promotion.After.HotFix == nil {
			kind += ", for which the plan has no time of its own (promotion.after.hotFix)"
		}
	}
	if p.Unclear != "" {
		kind += "; " + p.Unclear
	}
	return kind
}

// asHotFix says that a hot-fix needed a shorter wait; empty if the wait was not shortened.
func asHotFix(plan *v1beta2.RolloutPromotion, status *v1beta2.RolloutPromotionStatus) string {
	after, otherwise := waitOf(plan, status)
	if after == otherwise {
		return ""
	}
	return ", a hot-fix, which waits " + inWords(after, otherwise)
}

// people describes the missing approvals; empty if none is missing.
func (p *promoter) people() string {
	plan, change := p.rollout.Spec.Plan.Promotion, p.status.Promotion.Change
	switch cmp.Or(plan.Approval, v1beta2.ApproveMajor) {
	case v1beta2.ApproveNone:
		return ""
	case v1beta2.ApproveMajor:
		if change != v1beta2.ChangeMajor {
			return ""
		}
	case v1beta2.ApproveMinor:
		if change == v1beta2.ChangePatch {
			return ""
		}
	case v1beta2.ApproveAll:
	}
	what := "the promotion to channel " + p.status.Promotion.ToChannel
	return p.missingApproval(p.rollout, ApprovePromotion, plan.Persons, what, "")
}

// waitFor waits for a change.
func (p *promoter) waitFor(what string) { p.wait(v1beta2.RolloutCompleted, what, time.Time{}) }

func (p *promoter) promoted() {
	p.status.Promotion.PromotedAt = &p.now
	p.stop(fmt.Sprintf("channel %s got the version%s", p.status.Promotion.ToChannel, asHotFix(p.rollout.Spec.Plan.Promotion, p.status.Promotion)))
}

// stop ends the promotion. The rollout stays completed in any case.
func (p *promoter) stop(why string) {
	p.status.Promotion.Ended = why
	p.status.WaitsFor, p.status.WaitsSince, p.status.WaitsUntil, p.until = "", nil, nil, time.Time{}
}

// changeOf returns the kind of change between two versions by semantic versioning, or why there must be none: a
// promotion never downgrades a channel.
func changeOf(from, to string) (change v1beta2.VersionChange, why string) {
	before, err := semver.NewVersion(from)
	if err != nil {
		return "", "which is not a semantic version"
	}
	after, err := semver.NewVersion(to)
	if err != nil {
		return "", fmt.Sprintf("and %s is not a semantic version", to)
	}
	switch order := before.Compare(after); {
	case order > 0:
		return "", "which is newer"
	case order == 0:
		return "", "which is the same version"
	case before.Major() != after.Major():
		return v1beta2.ChangeMajor, ""
	case before.Minor() != after.Minor():
		return v1beta2.ChangeMinor, ""
	default:
		return v1beta2.ChangePatch, ""
	}
}

// PromotionReason returns the text that a ModuleReleaseMeta has about a promoted version.
func PromotionReason(r *v1beta2.ModuleRollout, s Situation) string {
	reason := promotionOf(r)
	if p := r.Status.Promotion; p != nil && p.Since != nil {
		reason += ", well since " + p.Since.UTC().Format(time.RFC3339) + asHotFix(r.Spec.Plan.Promotion, p)
	}
	if persons := s.approvers(r, ApprovePromotion); len(persons) > 0 {
		reason += ", approved by " + strings.Join(persons, ", ")
	}
	return reason
}

// IsPromoted reports whether the text of a ModuleReleaseMeta says that the version of exactly this rollout was
// promoted. The channel may have got another version since.
func IsPromoted(r *v1beta2.ModuleRollout, reason string) bool {
	return reason == promotionOf(r) || strings.HasPrefix(reason, promotionOf(r)+", ")
}

func promotionOf(r *v1beta2.ModuleRollout) string {
	completed := "at an unknown time"
	if r.Status.CompletedAt != nil {
		completed = r.Status.CompletedAt.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s %s from %s to %s: ModuleRollout %s completed %s",
		r.Spec.ModuleName, r.Spec.To, r.Spec.Channel, r.NextChannel(), r.Name, completed)
}
