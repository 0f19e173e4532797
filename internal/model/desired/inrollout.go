package desired

import (
	"context"
	"slices"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// cluster is what decides about the Kyma's place in a rollout.
func (w Wanted) cluster() rollout.Cluster {
	return rollout.Cluster{UID: w.KymaUID, Labels: w.KymaLabels}
}

// followRollouts finds the rollouts in force for a channel whose release meta wishes a version, and returns all versions
// that the Kyma may have by them: which one, depends on what is installed too (VersionIn). The channel of a mandatory
// module is empty.
func (c *Candidates) followRollouts(ctx context.Context, index Index, settings Settings, meta *v1beta2.ModuleReleaseMeta,
	channel, desired string, cluster rollout.Cluster,
) ([]string, error) {
	all, err := RolloutsOf(ctx, index, settings, meta)
	if err != nil {
		return nil, err
	}
	c.Rollouts = rollout.InForce(all, channel, desired)
	if len(c.Rollouts) == 0 {
		return []string{desired}, nil
	}
	c.Decided = rollout.VersionFor(c.Rollouts, desired, cluster, "").Version
	versions := []string{desired, c.Decided}
	for _, r := range c.Rollouts {
		versions = append(versions, r.Spec.To)
		if r.Status.Reverts && rollout.VersionFor(c.Rollouts, desired, cluster, r.Spec.To).TakesBack {
			c.TakenBack = append(c.TakenBack, r.Spec.To)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions), nil
}

// RolloutsOf are the rollouts of this instance that are about a release meta's module, in its namespace.
func RolloutsOf(ctx context.Context, index Index, settings Settings, meta *v1beta2.ModuleReleaseMeta) ([]*v1beta2.ModuleRollout, error) {
	all, err := index.Rollouts(ctx, ReleaseMetaModule(meta))
	if err != nil {
		return nil, err
	}
	return lists.Filter(all, func(r *v1beta2.ModuleRollout) bool { return r.Namespace == meta.Namespace && settings.Ours(r.Labels) }), nil
}

// VersionIn is the version that a Kyma has where its release meta wishes one for its channel and another may be installed.
func (c Candidates) VersionIn(desired string, kyma *v1beta2.Kyma, installed string) rollout.Decision {
	return rollout.VersionFor(c.Rollouts, desired, rollout.ClusterOf(kyma), installed)
}

// rolloutInputs are those of the candidates while a rollout decides: not the versions that the release meta gives its
// channels, which others than this Kyma may have, but the one that the Kyma gets. One whose labels changed may have another,
// which it keeps until a rollout takes it back.
func (c Candidates) rolloutInputs() []any {
	inputs := []any{"rollout", c.Decided, c.TakenBack}
	for _, meta := range c.ReleaseMetas {
		spec := meta.Spec.DeepCopy()
		spec.Channels = nil
		if spec.Mandatory != nil {
			spec.Mandatory.Version = ""
		}
		inputs = append(inputs, inputsOf(meta, spec))
	}
	for _, template := range c.Templates {
		if template.Spec.Version == c.Decided || template.Spec.Version == "" {
			inputs = append(inputs, objectInputs(template))
		}
	}
	return inputs
}
