package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Deferrals are until when the owner of a cluster puts upgrades off. The zero value puts off none.
type Deferrals struct {
	all     time.Time
	modules map[string]time.Time
}

// MaxDeferrals is what the annotation must be shorter than, in bytes: whoever owns a remote cluster may write it.
const MaxDeferrals = 4096

var errDeferral = errors.New("must be a time such as 2026-12-24T18:00:00Z, for all modules, or module=time pairs that are separated by commas")

// ParseDeferrals reads the annotation shared.AnnotationDeferUpgradesUntil: a time, pairs of a module and a time, or both.
func ParseDeferrals(text string) (Deferrals, error) {
	d := Deferrals{modules: map[string]time.Time{}}
	if len(text) >= MaxDeferrals {
		return Deferrals{}, fmt.Errorf("%w, and have less than %d characters", errDeferral, MaxDeferrals)
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		module, at, named := strings.Cut(part, "=")
		if !named {
			at = module
		}
		until, err := time.Parse(time.RFC3339, strings.TrimSpace(at))
		if err != nil || named && strings.TrimSpace(module) == "" {
			return Deferrals{}, fmt.Errorf("%w, not %q", errDeferral, part)
		}
		until = until.UTC().Truncate(time.Second) // as statuses show it
		if named {
			d.modules[strings.TrimSpace(module)] = until
		} else {
			d.all = until
		}
	}
	return d, nil
}

// Of is until when the upgrades of a module are put off; zero where they are not.
func (d Deferrals) Of(module string) time.Time {
	if until, named := d.modules[module]; named {
		return until
	}
	return d.all
}

// Deferral is how long an upgrade waits because the owner of the cluster put it off.
type Deferral struct {
	// Until is when it begins; zero where it is not put off.
	Until time.Time
	// InWindow is true where it then waits for a maintenance window, since its owner would have put it off for longer.
	InWindow bool
}

// DeferralOf is how long a cluster that has a version installed may put off the one that rollouts in force give it, newest
// first, where its owner asks for a time. The time that a plan allows begins when the first version was released that the
// cluster puts off: newer ones do not make it longer.
func DeferralOf(inForce []*v1beta2.ModuleRollout, c Cluster, installed string, asked time.Time) Deferral {
	if asked.IsZero() || installed == "" {
		return Deferral{}
	}
	var rule *v1beta2.RolloutDeferralRule
	var since time.Time
	for _, r := range inForce {
		if r.Spec.To == installed {
			break
		}
		place := PlaceOf(r, c)
		if !Released(r, place) {
			continue
		}
		if rule == nil {
			if rule = r.Spec.Plan.Deferral; rule == nil {
				return Deferral{}
			}
		}
		since = earliest(since, firstReleased(r, place.Stage))
	}
	if rule == nil || since.IsZero() {
		return Deferral{}
	}
	if end := since.Add(rule.Within.Duration); asked.After(end) {
		return Deferral{Until: end, InWindow: cmp.Or(rule.AtEnd, v1beta2.DeferralProceed) == v1beta2.DeferralWindow}
	}
	return Deferral{Until: asked}
}

// firstReleased is when a rollout first released its version to a stage; zero where nobody noted that.
func firstReleased(r *v1beta2.ModuleRollout, stage int) time.Time {
	if stage < len(r.Status.Stages) {
		if st := r.Status.Stages[stage]; st.FirstReleasedAt != nil {
			return st.FirstReleasedAt.Time
		} else if st.StartedAt != nil { // it had no clusters then
			return st.StartedAt.Time
		}
	}
	return time.Time{}
}
