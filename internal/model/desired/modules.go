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

// Wanted is what a Kyma asks for, from both of its sides.
type Wanted struct {
	// Complete is false while a synchronized Kyma's remote side was not yet accepted: then nothing may be
	// concluded from what is missing here.
	Complete bool
	// Channel is that of the modules that name neither channel nor version.
	Channel string
	// Modules are the module entries, each name once.
	Modules []v1beta2.Module
	// KymaLabels decide, with its uid, about the Kyma's place in a rollout.
	KymaLabels map[string]string
	// KymaUID and RemoteNamespace say whose user-provided templates the entries may mean; the latter is empty where the
	// Kyma has no remote cluster.
	KymaUID         types.UID
	RemoteNamespace string
}

// WantedBy works out the effective channel and modules of a Kyma (docs/contract.md#the-remote-kyma): without a remote
// side, the spec; with `.spec.sync` set, both sides, where the remote entry decides about a module that
// both name; otherwise the remote side alone. A Kyma whose synchronization is switched off keeps wanting
// what its remote side last asked for: switching off is no wish to uninstall.
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

// ChannelsColumn shows the versions of a release meta's channels to people, in order of the channels.
func ChannelsColumn(meta *v1beta2.ModuleReleaseMeta) string {
	shown := lists.Map(meta.Spec.Channels, func(assignment v1beta2.ChannelVersion) string { return assignment.Channel + "=" + assignment.Version })
	slices.Sort(shown)
	return strings.Join(shown, " ")
}

// union lists each module once, in the order of first mention; the entry of the later list decides.
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

// maxModules is the limit of the schema, checked again for what comes from clusters of others.
const maxModules = 256

// CheckRemote says in words what is wrong with a channel and modules that a remote Kyma asks for; empty
// when nothing is. The schema says the same, but the one in a remote cluster may be another's.
func CheckRemote(channel string, modules []v1beta2.Module) string {
	if channel == shared.ChannelNone {
		return fmt.Sprintf("the channel name %q is reserved", shared.ChannelNone)
	}
	if len(modules) > maxModules {
		return fmt.Sprintf("%d modules are listed, at most %d are possible", len(modules), maxModules)
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
