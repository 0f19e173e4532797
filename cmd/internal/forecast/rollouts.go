package forecast

import (
	"context"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/rollout"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// StageSize is how many Kymas a stage of a rollout would have.
type StageSize struct {
	Name  string `json:"name"`
	Kymas int    `json:"kymas"`
}

// Placed is where a Kyma would be in a rollout; the zero value is nowhere.
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

// CompleteRollouts puts into a snapshot, for each channel that would move under a policy, the rollout that would be made, as
// if it had completed: the forecast is about what comes out in the end. It returns these rollouts.
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
			chain := rollout.ByPolicy(all, channel.Channel)
			if len(chain) == 0 || chain[0].Spec.To == channel.Version {
				continue
			}
			subject := rollout.Subject{Module: desired.ReleaseMetaModule(meta), Labels: meta.Labels, Channel: channel.Channel}
			policy := rollout.PolicyFor(inNamespace(policies.Items, meta.Namespace), subject, settings.Ours)
			if policy == nil {
				continue
			}
			r := &v1beta2.ModuleRollout{
				ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: "forecast-" + meta.Name + "-" + channel.Channel, Labels: policy.Labels},
				Spec: v1beta2.ModuleRolloutSpec{
					ModuleName: subject.Module, Channel: channel.Channel, From: chain[0].Spec.To, To: channel.Version, Policy: policy.Name,
					Sequence: chain[0].Spec.Sequence + 1, Plan: policy.Spec.RolloutPlan,
				},
				Status: v1beta2.ModuleRolloutStatus{Phase: v1beta2.RolloutCompleted, Stage: math.MaxInt32},
			}
			s.Put(r)
			made = append(made, r)
		}
	}
	return made, nil
}

func inNamespace(policies []v1beta2.RolloutPolicy, namespace string) []v1beta2.RolloutPolicy {
	var there []v1beta2.RolloutPolicy
	for _, policy := range policies {
		if policy.Namespace == namespace {
			there = append(there, policy)
		}
	}
	return there
}

// fixBounds finds which Kymas the stages by count would take.
func fixBounds(ctx context.Context, s *Snapshot, settings desired.Settings, made []*v1beta2.ModuleRollout) error {
	for _, r := range made {
		kymas, err := advance.Concerned(ctx, s, settings, r)
		if err != nil {
			return err
		}
		clusters := make([]rollout.Cluster, 0, len(kymas))
		for _, kyma := range kymas {
			clusters = append(clusters, rollout.ClusterOf(kyma))
		}
		rollout.FixBounds(r, clusters)
	}
	return nil
}
