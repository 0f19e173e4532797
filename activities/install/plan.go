package install

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/reserved"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// plan is what is to be applied to one cluster for one Manifest.
type plan struct {
	stages [stageCount][]placed
	// entries are the inventory of all that is to be applied, without uids and hashes.
	entries []v1beta2.InventoryEntry
	// before and after are the hooks that are to run before and after the objects are applied.
	before, after []placed
	// refused are objects that no module may bring.
	refused []failure
	// unknown are objects whose kind the cluster does not know, optional ones left out.
	unknown []placed
	// skipped are the kinds of optional objects that the cluster does not know, as in status.kinds, sorted.
	skipped []string
	// version and ref are what is installed when all of the plan is applied.
	version, ref string
}

// placed is an object with its place in a cluster.
type placed struct {
	object   *object
	resource clusters.Resource
	name     types.NamespacedName
	entry    v1beta2.InventoryEntry
	// hook is set where the object is a chart's hook.
	hook *hook
}

// with returns it with what became of it.
func (p placed) with(entry v1beta2.InventoryEntry) placed {
	p.entry = entry
	return p
}

func (p placed) String() string { return describe(p.object.gvk.Kind, p.name) }

// planOf places the objects of a bundle: how each is addressed, and in which namespace. An object that names
// a namespace although its kind has none loses it, as with kubectl.
func planOf(ctx context.Context, m *v1beta2.Manifest, b *bundle, k kinds, remoteNamespace string) (plan, error) {
	var p plan
	seen := map[string]bool{}
	for i := range b.objects {
		o := &b.objects[i]
		at, err := placeObject(ctx, o, k, remoteNamespace)
		if p.refuses(at) {
			continue
		}
		if meta.IsNoMatchError(err) {
			if !o.optional {
				p.unknown = append(p.unknown, at)
			} else {
				p.skip(o.gvk)
			}
			continue
		}
		if err != nil {
			return plan{}, err
		}
		if seen[at.entry.ID] {
			return plan{}, fault.New(fault.Rejected, artifacts.ReasonInvalidManifest, "%s is there twice, once with and once without its namespace", at)
		}
		seen[at.entry.ID] = true
		p.stages[o.stage] = append(p.stages[o.stage], at)
		p.entries = append(p.entries, at.entry)
	}
	err := p.planHooks(ctx, m, b, k, remoteNamespace, seen)
	return p, err
}

// refuses tells whether no module may bring an object, and notes why.
func (p *plan) refuses(at placed) bool {
	why := at.object.refused
	if why == "" {
		why = reserved.Object(at.object.gvk.GroupKind(), at.name)
	}
	if why != "" {
		p.refused = append(p.refused, failure{object: at.String(), message: why})
	}
	return why != ""
}

// skip notes a kind of which optional objects are left out.
func (p *plan) skip(gvk schema.GroupVersionKind) {
	if at, known := slices.BinarySearch(p.skipped, kindText(gvk)); !known {
		p.skipped = slices.Insert(p.skipped, at, kindText(gvk))
	}
}

// skips tells whether optional objects of a kind are left out, in whatever version.
func (p *plan) skips(kind schema.GroupKind) bool {
	return slices.ContainsFunc(p.skipped, func(text string) bool {
		gvk, ok := parseKind(text)
		return ok && gvk.GroupKind() == kind
	})
}

// placeObject places one object. Where the cluster does not know its kind, the error says so (meta.IsNoMatchError).
func placeObject(ctx context.Context, o *object, k kinds, remoteNamespace string) (placed, error) {
	at := placed{object: o, name: types.NamespacedName{Namespace: o.namespace, Name: o.name}}
	resource, err := k.resource(ctx, o.gvk)
	if err != nil {
		return at, fmt.Errorf("look up kind %s: %w", o.gvk, err)
	}
	at.resource = resource
	switch {
	case !resource.Namespaced:
		at.name.Namespace = ""
	case at.name.Namespace == "":
		at.name.Namespace = remoteNamespace
	}
	if at.entry, err = v1beta2.NewInventoryEntry(o.gvk, at.name); err != nil {
		return at, fault.New(fault.Rejected, artifacts.ReasonInvalidManifest, "%s: %w", at, err)
	}
	return at, nil
}

// objects is the number of objects that ought to be in the cluster.
func (p *plan) objects() int { return len(p.entries) + len(p.unknown) }
