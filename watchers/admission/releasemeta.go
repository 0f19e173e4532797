package admission

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// releaseMetas warns about the effect of an edit of a ModuleReleaseMeta. It refuses nothing, and gives no warning if it
// cannot determine the effect.
type releaseMetas struct {
	permissive[*v1beta2.ModuleReleaseMeta]
	settings desired.Settings
	// cached reads only informers, with the indexes of package desired, because the editing user waits for the answer.
	cached client.Reader
}

const (
	// countWithin bounds the time to determine the effect. It is well below the API server's timeout.
	countWithin = 2 * time.Second
	// warningBytes is the maximum length of a warning. The API server cuts longer ones.
	warningBytes = 256
	// warningsAtMost is the maximum number of warnings. The API server drops those beyond 4 KiB.
	warningsAtMost = 15
)

// ValidateUpdate reports, for each channel with another version, how many Kymas get it and in which stages.
func (v releaseMetas) ValidateUpdate(ctx context.Context, before, after *v1beta2.ModuleReleaseMeta) (admission.Warnings, error) {
	if passes(v.settings, after) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	return v.warnings(ctx, before, after), nil
}

func (v releaseMetas) warnings(ctx context.Context, before, after *v1beta2.ModuleReleaseMeta) admission.Warnings {
	old := map[string]string{}
	for _, channel := range advance.ChannelsOf(before) {
		old[channel.Channel] = channel.Version
	}
	moved := slices.DeleteFunc(slices.Clone(advance.ChannelsOf(after)), func(channel v1beta2.ChannelVersion) bool {
		return old[channel.Channel] == "" || old[channel.Channel] == channel.Version
	})
	var warnings admission.Warnings
	for i, channel := range moved {
		if i == warningsAtMost {
			return append(warnings, fmt.Sprintf("moves %d more channels", len(moved)-i))
		}
		text, err := v.effect(ctx, after, channel, old[channel.Channel])
		if err != nil {
			return warnings
		}
		warnings = append(warnings, fault.Shorten(text, warningBytes))
	}
	return warnings
}

// effect describes what happens to the Kymas of a channel with another version.
func (v releaseMetas) effect(ctx context.Context, meta *v1beta2.ModuleReleaseMeta, channel v1beta2.ChannelVersion,
	from string,
) (string, error) {
	r, err := v.rollout(ctx, meta, channel)
	if err != nil {
		return "", err
	}
	module := desired.ReleaseMetaModule(meta)
	subject := r
	if subject == nil {
		subject = &v1beta2.ModuleRollout{Spec: v1beta2.ModuleRolloutSpec{ModuleName: module, Channel: channel.Channel}}
	}
	kymas, err := advance.FixBounds(ctx, v.cached, v.settings, subject)
	if err != nil {
		return "", err
	}
	kymas = slices.DeleteFunc(kymas, func(kyma *v1beta2.Kyma) bool { return v.settings.Denied(kyma, nil, meta) != "" })
	on := ""
	if channel.Channel != "" {
		on = " on channel " + channel.Channel
	}
	switch {
	case len(kymas) == 0:
		return fmt.Sprintf("moves no Kyma from %s %s to %s: there are none%s", module, from, channel.Version, on), nil
	case versions.IsDowngrade(from, channel.Version):
		return fmt.Sprintf("moves no Kyma from %s %s to %s, which is older: of %s%s, those that have %s keep it",
			module, from, channel.Version, numberOf(kymas), on, from), nil
	}
	text := fmt.Sprintf("moves %s from %s %s to %s%s", numberOf(kymas), module, from, channel.Version, on)
	if r == nil {
		return text + over(v.settings.PacingSpan), nil
	}
	sizes := advance.StageSizes(r, kymas)
	if len(sizes) == 1 {
		return text + ", in 1 stage: " + advance.DescribeStages(sizes), nil
	}
	return fmt.Sprintf("%s, in %d stages: %s", text, len(sizes), advance.DescribeStages(sizes)), nil
}

// over returns the text about the time until the last Kyma has its turn. The limit of Kymas in progress may extend that
// time.
func over(spread time.Duration) string {
	if spread <= 0 {
		return " at once"
	}
	return ", spread over " + duration.HumanDuration(spread)
}

// rollout returns the rollout that takes a channel's version through stages; nil if the version reaches all Kymas at
// once. The rollout may already exist: one created without a policy, or one of a version that the channel had a moment
// ago.
func (v releaseMetas) rollout(ctx context.Context, meta *v1beta2.ModuleReleaseMeta,
	channel v1beta2.ChannelVersion,
) (*v1beta2.ModuleRollout, error) {
	all, err := desired.RolloutsOf(ctx, desired.NewCached(v.cached), v.settings, meta)
	if err != nil {
		return nil, err
	}
	var policies v1beta2.RolloutPolicyList
	if err := v.cached.List(ctx, &policies, client.InNamespace(meta.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	if made := advance.Expected(v.settings, meta, channel, all, policies.Items); made != nil {
		return made, nil
	}
	if inForce := rollout.InForce(all, channel.Channel, channel.Version); len(inForce) > 0 && inForce[0].Spec.To == channel.Version {
		return inForce[0].DeepCopy(), nil
	}
	return nil, nil //nolint:nilnil // it is common that there is no rollout
}

func numberOf(kymas []*v1beta2.Kyma) string {
	if len(kymas) == 1 {
		return "1 Kyma"
	}
	return fmt.Sprintf("%d Kymas", len(kymas))
}
