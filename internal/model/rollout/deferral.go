package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Deferrals are the times until which the owner of a cluster defers upgrades. The zero value defers none.
type Deferrals struct {
	all     time.Time
	modules map[string]time.Time
}

// MaxDeferrals limits the size of the annotation in bytes, because owners of remote clusters may write it. The
// annotation must be shorter.
const MaxDeferrals = 4096

var errDeferral = errors.New("must be a time such as 2026-12-24T18:00:00Z, for all modules, or module=time pairs that are separated by commas")

// ParseDeferrals parses the annotation shared.AnnotationDeferUpgradesUntil: a time, pairs of a module and a time, or
// both.
func ParseDeferrals(text string) (Deferrals, error) {
	d := Deferrals{modules: map[string]time.Time{}}
	if len(text) >= MaxDeferrals {
		return Deferrals{}, fmt.Errorf("%w, and be shorter than %d bytes", errDeferral, MaxDeferrals)
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
		until = until.UTC().Truncate(time.Second) // as in the status
		if named {
			d.modules[strings.TrimSpace(module)] = until
		} else {
			d.all = until
		}
	}
	return d, nil
}

// Of returns until when the upgrades of a module are deferred; zero if they are not.
func (d Deferrals) Of(module string) time.Time {
	if until, named := d.modules[module]; named {
		return until
	}
	return d.all
}

// Deferral says how long an upgrade waits because the owner of the cluster deferred it.
type Deferral struct {
	// Until is when the upgrade may begin; zero if it is not deferred.
	Until time.Time
	// InWindow is true if the upgrade then waits for a maintenance window, because its owner asked for a longer
	// deferral than allowed.
	InWindow bool
}

// DeferralOf returns how long a cluster may defer the version that the rollouts in force give it, newest first.
// Installed is its installed version, and asked the time for which its owner asks. The maximum deferral of a plan
// begins with the release of the first version that the cluster defers. Newer versions do not extend it.
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

// firstReleased returns when a rollout first released its version to a stage; zero if that is not recorded.
func firstReleased(r *v1beta2.ModuleRollout, stage int) time.Time {
	if stage < len(r.Status.Stages) {
		if st := r.Status.Stages[stage]; st.FirstReleasedAt != nil {
			return st.FirstReleasedAt.Time
		} else if st.StartedAt != nil { // the stage had no clusters then
			return st.StartedAt.Time
		}
	}
	return time.Time{}
}
