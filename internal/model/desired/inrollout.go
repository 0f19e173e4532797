package desired

import (
	"context"
	"slices"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// cluster returns the facts that decide about the Kyma's place in a rollout.
func (w Wanted) cluster() rollout.Cluster {
	return rollout.Cluster{UID: w.KymaUID, Labels: w.KymaLabels}
}

// followRollouts finds the rollouts in force for a channel and the version that the release meta assigns to it. It
// returns all versions that these rollouts may give the Kyma. The installed version then decides which of them the Kyma
// gets (VersionIn). The channel of a mandatory module is empty.
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

// RolloutsOf returns the rollouts of this instance for a release meta's module, in its namespace.
func RolloutsOf(ctx context.Context, index Index, settings Settings, meta *v1beta2.ModuleReleaseMeta) ([]*v1beta2.ModuleRollout, error) {
	all, err := index.Rollouts(ctx, ReleaseMetaModule(meta))
	if err != nil {
		return nil, err
	}
	return lists.Filter(all, func(r *v1beta2.ModuleRollout) bool { return r.Namespace == meta.Namespace && settings.Ours(r.Labels) }), nil
}

// VersionIn returns the version for a Kyma if the release meta assigns the version desired to its channel. Installed is
// the installed version, or empty.
func (c Candidates) VersionIn(desired string, kyma *v1beta2.Kyma, installed string) rollout.Decision {
	return rollout.VersionFor(c.Rollouts, desired, rollout.ClusterOf(kyma), installed)
}

// rolloutInputs returns the inputs while a rollout decides. They have the version that the Kyma gets, instead of the
// versions in the release meta's channels, which may be for other Kymas. A Kyma with changed labels may have another
// version. It keeps that version until a rollout reverts it.
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
