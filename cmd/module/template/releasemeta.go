package template

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
)

// ModuleReleaseMeta returns the ModuleReleaseMeta that assigns versions of the
// module to channels. Each channel is NAME, which gets the module's own version,
// or NAME=VERSION. If a channel is named twice, the last version counts. Without
// channels it returns nil, unless the module is mandatory.
func ModuleReleaseMeta(module config.Module, channels []string) (*v1beta2.ModuleReleaseMeta, error) {
	release := &v1beta2.ModuleReleaseMeta{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: "ModuleReleaseMeta"},
		ObjectMeta: metav1.ObjectMeta{Name: module.ModuleName, Namespace: module.Namespace},
		Spec: v1beta2.ModuleReleaseMetaSpec{
			ModuleName:       module.ModuleName,
			OCMComponentName: module.Name,
			Beta:             module.Beta,
			Internal:         module.Internal,
		},
	}
	if module.Mandatory {
		if len(channels) > 0 {
			return nil, fmt.Errorf("%w: module %s is mandatory and has no channels", config.ErrInvalid, module.ModuleName)
		}
		release.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: module.Version}
		return release, nil
	}
	position := map[string]int{}
	for _, text := range channels {
		channel, err := config.ParseChannel(text, module.Version)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
		}
		assigned := v1beta2.ChannelVersion{Channel: channel.Name, Version: channel.Version}
		if at, again := position[channel.Name]; again {
			release.Spec.Channels[at] = assigned
			continue
		}
		position[channel.Name] = len(release.Spec.Channels)
		release.Spec.Channels = append(release.Spec.Channels, assigned)
	}
	if len(release.Spec.Channels) == 0 {
		return nil, nil
	}
	return release, nil
}
