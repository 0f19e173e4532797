package desired

import (
	"cmp"
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Index finds templates and release metas by key, at a cost that does not depend on how many there are. The results are
// shared and must not be changed.
type Index interface {
	Templates(ctx context.Context, key string) ([]*v1beta2.ModuleTemplate, error)
	ReleaseMetas(ctx context.Context, key string) ([]*v1beta2.ModuleReleaseMeta, error)
	// Rollouts returns the rollouts of a module, by its name.
	Rollouts(ctx context.Context, module string) ([]*v1beta2.ModuleRollout, error)
}

// Candidates are the objects that may decide about one module entry.
type Candidates struct {
	// ReleaseMetas are the release metas of the module. If there are any, they decide about the version.
	ReleaseMetas []*v1beta2.ModuleReleaseMeta
	// Templates are the templates of the versions that the release metas decide on. Without release metas, they are all
	// templates that the entry's name may mean.
	Templates []*v1beta2.ModuleTemplate
	// Owners are the release metas of the modules of Templates, if the entry is not by module name. They do not choose
	// the version, but they still decide who may have the module.
	Owners []*v1beta2.ModuleReleaseMeta
	// UserProvided are the templates that users provided in the remote cluster and that the entry means. The entry
	// means a template by its remoteModuleTemplateRef, or by its name if the control plane has nothing of that name.
	// OnlyUserProvided is true for a reference: then no other template counts.
	UserProvided     []*v1beta2.ModuleTemplate
	OnlyUserProvided bool
	// Rollouts are the rollouts in force for the module in the entry's channel, newest first. Without any, the release
	// meta alone decides, and Decided is empty. Otherwise Decided is the version that the rollouts give the Kyma by its
	// place. TakenBack are the versions from which the Kyma is reverted if it has one of them.
	Rollouts  []*v1beta2.ModuleRollout
	Decided   string
	TakenBack []string
}

// Owner returns the release meta of the module that a template belongs to, or nil.
func (c Candidates) Owner(template *v1beta2.ModuleTemplate) *v1beta2.ModuleReleaseMeta {
	name := ModuleNameOf(template)
	return lists.First(append(slices.Clone(c.ReleaseMetas), c.Owners...), func(meta *v1beta2.ModuleReleaseMeta) bool {
		return ReleaseMetaModule(meta) == name
	})
}

// Catalog has the candidates of each module entry of a Kyma, by the entry's name, and of each mandatory module, by its
// MandatoryEntry. The objects are shared and must not be changed.
type Catalog map[string]Candidates

// Gather finds the candidates of all wanted and all mandatory modules. Objects of other instances are left out.
func Gather(ctx context.Context, index Index, settings Settings, wanted Wanted) (Catalog, error) {
	catalog := make(Catalog, len(wanted.Modules))
	for _, module := range wanted.Modules {
		candidates, err := gatherModule(ctx, index, settings, module, wanted)
		if err != nil {
			return nil, err
		}
		candidates.UserProvided, candidates.OnlyUserProvided, err = UserProvided(ctx, index, settings, wanted.KymaUID, module, wanted.RemoteNamespace)
		if err != nil {
			return nil, err
		}
		catalog[module.Name] = candidates
	}
	if err := gatherMandatory(ctx, index, settings, wanted.cluster(), catalog); err != nil {
		return nil, err
	}
	return catalog, nil
}

func gatherModule(ctx context.Context, index Index, settings Settings, module v1beta2.Module, wanted Wanted) (Candidates, error) {
	var found Candidates
	var err error
	if found.ReleaseMetas, err = ourReleaseMetas(ctx, index, settings, module.Name); err != nil {
		return found, err
	}
	keys := []string{module.Name}
	if len(found.ReleaseMetas) > 0 {
		keys = nil
		for _, meta := range found.ReleaseMetas {
			version := VersionFor(module, wanted.Channel, meta)
			if version == "" {
				continue
			}
			versions := []string{version}
			if module.Version == "" {
				if versions, err = found.followRollouts(ctx, index, settings, meta, module.EffectiveChannel(wanted.Channel), version, wanted.cluster()); err != nil {
					return found, err
				}
			}
			for _, version := range versions {
				keys = append(keys, versionKey(module.Name, version), conventionalName(module.Name, version))
			}
		}
		slices.Sort(keys)
	}
	for _, key := range slices.Compact(keys) {
		templates, err := ourTemplates(ctx, index, settings, key)
		if err != nil {
			return found, err
		}
		found.Templates = append(found.Templates, templates...)
	}
	found.Templates = byName(found.Templates)
	for _, template := range found.Templates {
		name := ModuleNameOf(template)
		if name == "" || name == module.Name {
			continue
		}
		owners, err := ourReleaseMetas(ctx, index, settings, name)
		if err != nil {
			return found, err
		}
		found.Owners = append(found.Owners, owners...)
	}
	found.Owners = byName(found.Owners)
	return found, nil
}

func ourReleaseMetas(ctx context.Context, index Index, settings Settings, module string) ([]*v1beta2.ModuleReleaseMeta, error) {
	metas, err := index.ReleaseMetas(ctx, module)
	if err != nil {
		return nil, err
	}
	ours := lists.Filter(metas, func(meta *v1beta2.ModuleReleaseMeta) bool { return settings.Ours(meta.Labels) })
	return byName(ours), nil
}

// VersionFor returns the version that a release meta gives a module entry: the pinned version, else the version of the
// entry's channel, where channel is the Kyma's. It returns an empty string if the release meta has no version for that
// channel.
func VersionFor(module v1beta2.Module, channel string, meta *v1beta2.ModuleReleaseMeta) string {
	if module.Version != "" {
		return module.Version
	}
	wanted := module.EffectiveChannel(channel)
	return lists.First(meta.Spec.Channels, func(assignment v1beta2.ChannelVersion) bool { return assignment.Channel == wanted }).Version
}

// byName sorts objects by namespace and name, so that the order of events never matters.
func byName[T client.Object](objects []T) []T {
	slices.SortFunc(objects, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return slices.CompactFunc(objects, func(a, b T) bool {
		return a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
	})
}
