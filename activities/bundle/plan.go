package bundle

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts/render"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/activities/reserved"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Plan is what is to be applied to one cluster for one Manifest.
type Plan struct {
	Stages [kinds.StageCount][]Placed
	// entries are the inventory of all that is to be applied, without uids and hashes.
	Entries []v1beta2.InventoryEntry
	// before and after are the hooks that are to run before and after the objects are applied.
	Before, After []Placed
	// refused are objects that no module may bring.
	Refused []Failure
	// unknown are objects whose kind the cluster does not know, optional ones left out.
	Unknown []Placed
	// skipped are the kinds of optional objects that the cluster does not know, as in status.kinds, sorted.
	Skipped []string
	// version and ref are what is installed when all of the plan is applied.
	Version, Ref string
}

// Placed is an object with its place in a cluster.
type Placed struct {
	Object   *Object
	Resource clusters.Resource
	Name     types.NamespacedName
	Entry    v1beta2.InventoryEntry
	// hook is set where the object is a chart's hook.
	Hook *hook
}

// With returns it with what became of it.
func (p Placed) With(entry v1beta2.InventoryEntry) Placed {
	p.Entry = entry
	return p
}

func (p Placed) String() string { return objects.Describe(p.Object.GVK.Kind, p.Name) }

// PlanOf places the objects of a bundle: how each is addressed, and in which namespace. An object that names
// a namespace although its kind has none loses it, as with kubectl.
func PlanOf(ctx context.Context, m *v1beta2.Manifest, b *Bundle, k kinds.Mapper, remoteNamespace string) (Plan, error) {
	var p Plan
	seen := map[string]bool{}
	for i := range b.Objects {
		o := &b.Objects[i]
		at, err := placeObject(ctx, o, k, remoteNamespace)
		if p.refuses(at) {
			continue
		}
		if meta.IsNoMatchError(err) {
			if !o.Optional {
				p.Unknown = append(p.Unknown, at)
			} else {
				p.Skip(o.GVK)
			}
			continue
		}
		if err != nil {
			return Plan{}, err
		}
		if seen[at.Entry.ID] {
			return Plan{}, fault.New(fault.Rejected, render.ReasonInvalidManifest, "%s is there twice, once with and once without its namespace", at)
		}
		seen[at.Entry.ID] = true
		p.Stages[o.Stage] = append(p.Stages[o.Stage], at)
		p.Entries = append(p.Entries, at.Entry)
	}
	err := p.planHooks(ctx, m, b, k, remoteNamespace, seen)
	return p, err
}

// refuses tells whether no module may bring an object, and notes why.
func (p *Plan) refuses(at Placed) bool {
	why := at.Object.refused
	if why == "" {
		why = reserved.Object(at.Object.GVK.GroupKind(), at.Name)
	}
	if why != "" {
		p.Refused = append(p.Refused, Failure{Object: at.String(), Message: why})
	}
	return why != ""
}

// Skip notes a kind of which optional objects are left out.
func (p *Plan) Skip(gvk schema.GroupVersionKind) {
	if at, known := slices.BinarySearch(p.Skipped, kinds.Text(gvk)); !known {
		p.Skipped = slices.Insert(p.Skipped, at, kinds.Text(gvk))
	}
}

// Skips tells whether optional objects of a kind are left out, in whatever version.
func (p *Plan) Skips(kind schema.GroupKind) bool {
	return slices.ContainsFunc(p.Skipped, func(text string) bool {
		gvk, ok := kinds.Parse(text)
		return ok && gvk.GroupKind() == kind
	})
}

// placeObject places one object. Where the cluster does not know its kind, the error says so (meta.IsNoMatchError).
func placeObject(ctx context.Context, o *Object, k kinds.Mapper, remoteNamespace string) (Placed, error) {
	at := Placed{Object: o, Name: types.NamespacedName{Namespace: o.namespace, Name: o.name}}
	resource, err := k.Resource(ctx, o.GVK)
	if err != nil {
		return at, fmt.Errorf("look up kind %s: %w", o.GVK, err)
	}
	at.Resource = resource
	switch {
	case !resource.Namespaced:
		at.Name.Namespace = ""
	case at.Name.Namespace == "":
		at.Name.Namespace = remoteNamespace
	}
	if at.Entry, err = v1beta2.NewInventoryEntry(o.GVK, at.Name); err != nil {
		return at, fault.New(fault.Rejected, render.ReasonInvalidManifest, "%s: %w", at, err)
	}
	return at, nil
}

// Objects is the number of objects that ought to be in the cluster.
func (p *Plan) Objects() int { return len(p.Entries) + len(p.Unknown) }
