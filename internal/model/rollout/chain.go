package rollout

import (
	"cmp"
	"slices"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// InForce are those of a module's rollouts that decide about a channel, newest first. Those that were made for a policy
// do, whatever version the ModuleReleaseMeta gives the channel meanwhile: what it wishes reaches clusters by a rollout only.
// Without any, one that somebody made without a policy does, while the ModuleReleaseMeta gives the channel its version. The channel of
// a mandatory module is empty.
func InForce(all []*v1beta2.ModuleRollout, channel, desired string) []*v1beta2.ModuleRollout {
	if made := ByPolicy(all, channel); len(made) > 0 {
		return made
	}
	return selected(all, func(r *v1beta2.ModuleRollout) bool {
		return r.IsByHand() && r.Spec.Channel == channel && r.Spec.To == desired
	})
}

// ByPolicy are those of a module's rollouts that policies had made for a channel, newest first.
func ByPolicy(all []*v1beta2.ModuleRollout, channel string) []*v1beta2.ModuleRollout {
	return selected(all, func(r *v1beta2.ModuleRollout) bool { return !r.IsByHand() && r.Spec.Channel == channel })
}

func selected(all []*v1beta2.ModuleRollout, is func(*v1beta2.ModuleRollout) bool) []*v1beta2.ModuleRollout {
	found := lists.Filter(all, func(r *v1beta2.ModuleRollout) bool { return r.DeletionTimestamp.IsZero() && is(r) })
	slices.SortFunc(found, newestFirst)
	return found
}

func newestFirst(a, b *v1beta2.ModuleRollout) int {
	return cmp.Or(
		cmp.Compare(b.Spec.Sequence, a.Spec.Sequence),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(b.Name, a.Name),
	)
}

// IsNewer tells whether a rollout supersedes another of the same channel.
func IsNewer(r, than *v1beta2.ModuleRollout) bool { return newestFirst(r, than) < 0 }

// Decision is the version that a cluster has.
type Decision struct {
	Version string
	// TakesBack is true where that is an older one, to which a rollout takes the cluster back.
	TakesBack bool
}

// VersionFor is the version of a channel for one cluster, by the rollouts in force, newest first, and the version that the
// ModuleReleaseMeta wishes. A rollout gives its version to those whom it has released; the others have that of the rollout
// before it, and in the end that from which the oldest started. What is installed, where that is known, decides only that
// nobody loses a version without a rollout that takes it back: a Kyma whose labels change keeps what it has.
func VersionFor(inForce []*v1beta2.ModuleRollout, desired string, c Cluster, installed string) Decision {
	if len(inForce) == 0 || installed == desired && inForce[0].Spec.To != desired {
		return Decision{Version: desired}
	}
	version, reverts := inForce[len(inForce)-1].Spec.From, false
	for _, r := range slices.Backward(inForce) {
		keeps := installed == r.Spec.To && !r.Status.Reverts
		if keeps || Released(r, PlaceOf(r, c)) {
			version = r.Spec.To
		}
		reverts = reverts || installed == r.Spec.To && r.Status.Reverts
	}
	return Decision{Version: version, TakesBack: reverts && version != installed}
}
