package rollout

import (
	"cmp"
	"slices"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// InForce returns the rollouts of a module that decide about a channel, newest first. If policies created any, those
// count, whatever version the ModuleReleaseMeta assigns to the channel, because a new version reaches clusters only by
// a rollout. Otherwise a rollout without a policy counts while the ModuleReleaseMeta assigns its version to the
// channel. The channel of a mandatory module is empty.
func InForce(all []*v1beta2.ModuleRollout, channel, desired string) []*v1beta2.ModuleRollout {
	if made := ByPolicy(all, channel); len(made) > 0 {
		return made
	}
	return selected(all, func(r *v1beta2.ModuleRollout) bool {
		return r.IsByHand() && r.Spec.Channel == channel && r.Spec.To == desired
	})
}

// ByPolicy returns the rollouts that policies created for a channel of a module, newest first.
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

// IsNewer reports whether a rollout supersedes another rollout of the same channel.
func IsNewer(r, than *v1beta2.ModuleRollout) bool { return newestFirst(r, than) < 0 }

// Decision is the version for a cluster.
type Decision struct {
	Version string
	// TakesBack is true if a rollout reverts the cluster to this version.
	TakesBack bool
}

// VersionFor returns the version of a channel for one cluster. The inputs are the rollouts in force, newest first, and
// the version that the ModuleReleaseMeta assigns (desired). A rollout gives its version to the clusters to which it has
// released it. Other clusters get the version of the rollout before it, and in the end the version from which the
// oldest rollout started. The installed version, if known, only makes sure that no cluster loses its version unless a
// rollout reverts it. So a Kyma with changed labels keeps its version.
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
