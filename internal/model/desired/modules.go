package desired

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Wanted is what a Kyma asks for, combined from the control plane's Kyma and the remote Kyma.
type Wanted struct {
	// Complete is false while a synchronized Kyma's remote Kyma was not yet accepted. Then a missing module means
	// nothing.
	Complete bool
	// Channel is the channel of modules that name neither channel nor version.
	Channel string
	// Modules are the module entries, each name once.
	Modules []v1beta2.Module
	// KymaLabels and the uid decide about the Kyma's place in a rollout.
	KymaLabels map[string]string
	// KymaUID and RemoteNamespace identify the user-provided templates that the entries may mean. RemoteNamespace is
	// empty if the Kyma has no remote cluster.
	KymaUID         types.UID
	RemoteNamespace string
}

// WantedBy computes the effective channel and modules of a Kyma (docs/contract.md#the-remote-kyma). Without a remote
// Kyma, the spec decides. With `.spec.sync` set, both Kymas count, and the remote entry decides about a module that
// both list. Otherwise the remote Kyma alone decides. A Kyma with synchronization switched off keeps the modules that
// its remote Kyma last asked for, because switching off is not a request to uninstall.
func WantedBy(kyma *v1beta2.Kyma, sync Sync) Wanted {
	wanted := wantedOf(kyma, sync)
	wanted.KymaUID, wanted.KymaLabels = kyma.UID, kyma.Labels
	if sync.Enabled {
		wanted.RemoteNamespace = sync.Namespace
	}
	return wanted
}

func wantedOf(kyma *v1beta2.Kyma, sync Sync) Wanted {
	if !IsAccepted(kyma) {
		return Wanted{
			Complete: !sync.Enabled,
			Channel:  kyma.Spec.EffectiveChannel(),
			Modules:  union(kyma.Spec.Modules, nil),
		}
	}
	remote := kyma.Status.Remote
	wanted := Wanted{Complete: true, Channel: cmp.Or(remote.Channel, shared.DefaultChannel)}
	if sync.Enabled && sync.Generation == v1beta2.SyncGenerationDefault {
		wanted.Modules = union(nil, remote.Modules)
		return wanted
	}
	wanted.Modules = union(kyma.Spec.Modules, remote.Modules)
	return wanted
}

// Module returns the entry of that name.
func (w Wanted) Module(name string) (v1beta2.Module, bool) {
	return lists.Find(w.Modules, func(module v1beta2.Module) bool { return module.Name == name })
}

// ChannelsColumn formats the versions of a release meta's channels for people, sorted by channel.
func ChannelsColumn(meta *v1beta2.ModuleReleaseMeta) string {
	shown := lists.Map(meta.Spec.Channels, func(assignment v1beta2.ChannelVersion) string { return assignment.Channel + "=" + assignment.Version })
	slices.Sort(shown)
	return strings.Join(shown, " ")
}

// union returns each module once, in the order of first mention. The entry of the later list decides.
func union(first, second []v1beta2.Module) []v1beta2.Module {
	modules := make([]v1beta2.Module, 0, len(first)+len(second))
	position := make(map[string]int, len(first)+len(second))
	for _, list := range [][]v1beta2.Module{first, second} {
		for _, module := range list {
			if at, known := position[module.Name]; known {
				module.Controller = cmp.Or(module.Controller, modules[at].Controller)
				modules[at] = module
				continue
			}
			position[module.Name] = len(modules)
			modules = append(modules, module)
		}
	}
	return modules
}

// maxModules is the limit of the schema. It is checked again for input from remote clusters.
const maxModules = 256

// CheckRemote says what is wrong with the channel and modules of a remote Kyma; empty if nothing is. The schema has the
// same rules, but the remote cluster may have a different schema.
func CheckRemote(channel string, modules []v1beta2.Module) string {
	if channel == shared.ChannelNone {
		return fmt.Sprintf("the channel name %q is reserved", shared.ChannelNone)
	}
	if len(modules) > maxModules {
		return fmt.Sprintf("%d modules are listed, the limit is %d", len(modules), maxModules)
	}
	listed := make(map[string]bool, len(modules))
	for _, module := range modules {
		switch {
		case module.Name == "":
			return "a module without name is listed"
		case listed[module.Name]:
			return fmt.Sprintf("module %s is listed twice", module.Name)
		case module.Channel != "" && module.Version != "":
			return fmt.Sprintf("module %s: channel and version exclude each other", module.Name)
		case module.Channel == shared.ChannelNone:
			return fmt.Sprintf("module %s: the channel name %q is reserved", module.Name, shared.ChannelNone)
		}
		listed[module.Name] = true
	}
	return ""
}
