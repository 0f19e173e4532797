package advance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// StageSize is the number of Kymas in a stage of a rollout.
type StageSize struct {
	Name  string `json:"name"`
	Kymas int    `json:"kymas"`
}

// Expected returns the rollout that would be created for the version that a release meta gives a channel. all are the
// module's rollouts; policies may be of any namespace. Expected returns nil if no rollout would be created. The rollout
// has no bounds yet (FixBounds).
func Expected(settings desired.Settings, meta *v1beta2.ModuleReleaseMeta, channel v1beta2.ChannelVersion,
	all []*v1beta2.ModuleRollout, policies []v1beta2.RolloutPolicy,
) *v1beta2.ModuleRollout {
	chain := rollout.ByPolicy(all, channel.Channel)
	if len(chain) == 0 || chain[0].Spec.To == channel.Version {
		return nil
	}
	subject := rollout.Subject{Module: desired.ReleaseMetaModule(meta), Labels: meta.Labels, Channel: channel.Channel}
	policy := rollout.PolicyFor(inNamespace(policies, meta.Namespace), subject, settings.Ours)
	if policy == nil {
		return nil
	}
	return &v1beta2.ModuleRollout{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: meta.Namespace, Name: "forecast-" + meta.Name + "-" + channel.Channel, Labels: policy.Labels,
		},
		Spec: v1beta2.ModuleRolloutSpec{
			ModuleName: subject.Module, Channel: channel.Channel, From: chain[0].Spec.To, To: channel.Version, Policy: policy.Name,
			Sequence: chain[0].Spec.Sequence + 1, Plan: policy.Spec.RolloutPlan,
		},
	}
}

// ExpectedPromotion returns what the promotion of a rollout that completes now would wait for, in the words of the
// rollout's status. It returns "" if the version would not be promoted.
func ExpectedPromotion(ctx context.Context, informers client.Reader, settings desired.Settings, r *v1beta2.ModuleRollout) (string, error) {
	index := desired.NewCached(informers)
	metas, err := index.ReleaseMetas(ctx, r.Spec.ModuleName)
	if err != nil {
		return "", err
	}
	metas = slices.DeleteFunc(slices.Clone(metas), func(meta *v1beta2.ModuleReleaseMeta) bool {
		return meta.Namespace != r.Namespace || !settings.Ours(meta.Labels)
	})
	if len(metas) != 1 {
		return "", nil
	}
	templates, err := index.Templates(ctx, r.Spec.ModuleName)
	if err != nil {
		return "", err
	}
	situation := rollout.Situation{Desired: channelVersion(metas[0], r.Spec.Channel)}
	for _, template := range templates {
		if isOfRollout(settings, template, r) {
			situation.Urgency = rollout.UrgencyOf(template)
			break
		}
	}
	completed := r.DeepCopy()
	completed.Status.Promotion = nil
	status, _, _ := rollout.Promote(completed, rollout.Observed{}, situation, rollout.NextChannel{Version: channelVersion(metas[0], r.NextChannel())})
	return status.WaitsFor, nil
}

func inNamespace(policies []v1beta2.RolloutPolicy, namespace string) []v1beta2.RolloutPolicy {
	return lists.Filter(policies, func(policy v1beta2.RolloutPolicy) bool { return policy.Namespace == namespace })
}

// FixBounds decides which Kymas the stages by count take, in a rollout that has not begun. It returns the Kymas that the
// rollout concerns. They are shared and must not be changed.
func FixBounds(ctx context.Context, informers client.Reader, settings desired.Settings,
	r *v1beta2.ModuleRollout,
) ([]*v1beta2.Kyma, error) {
	kymas, err := Concerned(ctx, informers, settings, r)
	if err != nil {
		return nil, err
	}
	clusters := lists.Map(kymas, rollout.ClusterOf)
	rollout.FixBounds(r, clusters)
	return kymas, nil
}

// StageSizes counts Kymas by their stage in a rollout.
func StageSizes(r *v1beta2.ModuleRollout, kymas []*v1beta2.Kyma) []StageSize {
	stages := rollout.Stages(r.Spec.Plan)
	sizes := make([]StageSize, len(stages))
	for i, stage := range stages {
		sizes[i].Name = stage.Name
	}
	place := rollout.PlaceFunc(r)
	for _, kyma := range kymas {
		sizes[place(rollout.ClusterOf(kyma)).Stage].Kymas++
	}
	return sizes
}

// DescribeStages returns the names of stages with their sizes, for example "canary (2), rest (81)".
func DescribeStages(sizes []StageSize) string {
	all := lists.Map(sizes, func(stage StageSize) string { return fmt.Sprintf("%s (%d)", stage.Name, stage.Kymas) })
	return strings.Join(all, ", ")
}
