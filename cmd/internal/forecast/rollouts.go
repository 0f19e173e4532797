package forecast

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// StageSize is the number of Kymas in a stage of a rollout.
type StageSize = advance.StageSize

// Placed is a Kyma's place in a rollout. The zero value means none.
type Placed struct {
	stages []v1beta2.RolloutStage
	stage  int
}

func (p Placed) addTo(sizes []StageSize) []StageSize {
	if p.stages == nil {
		return sizes
	}
	if sizes == nil {
		for _, stage := range p.stages {
			sizes = append(sizes, StageSize{Name: stage.Name})
		}
	}
	if p.stage < len(sizes) {
		sizes[p.stage].Kymas++
	}
	return sizes
}

// CompleteRollouts adds to a snapshot, for each channel that would move under a policy, the rollout that would be
// created. The rollout is marked as completed, because the forecast is about the final result. CompleteRollouts returns
// these rollouts.
func CompleteRollouts(ctx context.Context, s *Snapshot, settings desired.Settings) ([]*v1beta2.ModuleRollout, error) {
	var metas v1beta2.ModuleReleaseMetaList
	var policies v1beta2.RolloutPolicyList
	for _, list := range []client.ObjectList{&metas, &policies} {
		if err := s.List(ctx, list); err != nil {
			return nil, err
		}
	}
	var made []*v1beta2.ModuleRollout
	for i := range metas.Items {
		meta := &metas.Items[i]
		all, err := desired.RolloutsOf(ctx, desired.NewCached(s), settings, meta)
		if err != nil {
			return nil, err
		}
		for _, channel := range advance.ChannelsOf(meta) {
			r := advance.Expected(settings, meta, channel, all, policies.Items)
			if r == nil {
				continue
			}
			r.Status.Phase, r.Status.Stage = v1beta2.RolloutCompleted, math.MaxInt32
			s.Put(r)
			made = append(made, r)
		}
	}
	return made, nil
}

// fixBounds determines which Kymas the stages by count would take, and returns the number of Kymas in each stage.
func fixBounds(ctx context.Context, s *Snapshot, settings desired.Settings, made []*v1beta2.ModuleRollout) (map[*v1beta2.ModuleRollout][]StageSize, error) {
	sizes := map[*v1beta2.ModuleRollout][]StageSize{}
	for _, r := range made {
		kymas, err := advance.FixBounds(ctx, s, settings, r)
		if err != nil {
			return nil, err
		}
		sizes[r] = advance.StageSizes(r, kymas)
	}
	return sizes, nil
}

// promotions describes what each version waits for before it moves to another channel, as far as that changes.
func promotions(ctx context.Context, before, after *Snapshot, settings desired.Settings) ([]string, error) {
	known, err := promotionsOf(ctx, before, settings)
	if err != nil {
		return nil, err
	}
	all, err := promotionsOf(ctx, after, settings)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(text string) bool { return slices.Contains(known, text) }), nil
}

func promotionsOf(ctx context.Context, s *Snapshot, settings desired.Settings) ([]string, error) {
	var rollouts v1beta2.ModuleRolloutList
	if err := s.List(ctx, &rollouts); err != nil {
		return nil, err
	}
	var all []string
	for i := range rollouts.Items {
		r := &rollouts.Items[i]
		if !r.IsBeingPromoted() || !settings.Ours(r.Labels) {
			continue
		}
		waits, err := advance.ExpectedPromotion(ctx, s, settings, r)
		if err != nil {
			return nil, err
		}
		if waits != "" {
			all = append(all, fmt.Sprintf("%s %s of channel %s waits for %s", r.Spec.ModuleName, r.Spec.To, r.Spec.Channel, waits))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
