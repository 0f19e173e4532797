package bundle

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/model/reserved"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// Plan describes what to apply to one cluster for one Manifest.
type Plan struct {
	Stages [kinds.StageCount][]Placed
	// Entries are the inventory entries of everything to apply, without uids and hashes.
	Entries []v1beta2.InventoryEntry
	// Before and After are the hooks that run before and after the objects are applied.
	Before, After []Placed
	// Refused holds objects that no module may install.
	Refused []Failure
	// Unknown holds the objects, except for optional ones, with a kind that the cluster does not serve.
	Unknown []Placed
	// Skipped holds the kinds of optional objects that the cluster does not serve, in the format of status.kinds,
	// sorted.
	Skipped []string
	// Version and Ref identify what is installed after the whole plan has been applied.
	Version, Ref string
}

// Placed is an object with its API resource, namespace and inventory entry in one cluster.
type Placed struct {
	Object   *Object
	Resource kinds.Resource
	Name     types.NamespacedName
	Entry    v1beta2.InventoryEntry
	// Hook is nil unless the object is a chart's hook.
	Hook *hook
}

// With returns the object with another inventory entry.
func (p Placed) With(entry v1beta2.InventoryEntry) Placed {
	p.Entry = entry
	return p
}

// String returns the object's name for messages.
func (p Placed) String() string { return objects.Describe(p.Object.GVK.Kind, p.Name) }

// PlanOf places the objects of a bundle: it finds each object's API resource and namespace. It drops the namespace of
// a cluster-scoped object, as kubectl does. An object that upstream put into the namespace default stays there.
func PlanOf(ctx context.Context, m *v1beta2.Manifest, b *Bundle, k kinds.Mapper, remoteNamespace string) (Plan, error) {
	var p Plan
	seen := map[string]bool{}
	into := placement{remoteNamespace: remoteNamespace, stays: inDefault(m, b)}
	for i := range b.Objects {
		o := &b.Objects[i]
		at, err := into.place(ctx, o, k)
		if !desired.IsAgent(m) && p.refuses(at) {
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
			return Plan{}, fault.New(fault.Rejected, render.ReasonInvalidManifest,
				"%s is in the module twice, once with and once without its namespace", at)
		}
		seen[at.Entry.ID] = true
		p.Stages[o.Stage] = append(p.Stages[o.Stage], at)
		p.Entries = append(p.Entries, at.Entry)
	}
	err := p.planHooks(ctx, m, b, k, into, seen)
	return p, err
}

// refuses reports whether no module may install the object, and records the reason in the plan.
func (p *Plan) refuses(at Placed) bool {
	why := cmp.Or(at.Object.refused, reserved.Object(at.Object.GVK.GroupKind(), at.Name))
	if why != "" {
		p.Refused = append(p.Refused, Failure{Object: at.String(), Message: why})
	}
	return why != ""
}

// Skip records that optional objects of a kind are skipped.
func (p *Plan) Skip(gvk schema.GroupVersionKind) {
	if at, known := slices.BinarySearch(p.Skipped, kinds.Text(gvk)); !known {
		p.Skipped = slices.Insert(p.Skipped, at, kinds.Text(gvk))
	}
}

// Skips reports whether optional objects of a kind are skipped, in any version.
func (p *Plan) Skips(kind schema.GroupKind) bool {
	return slices.ContainsFunc(p.Skipped, func(text string) bool {
		gvk, ok := kinds.Parse(text)
		return ok && gvk.GroupKind() == kind
	})
}

// placement decides the namespace of objects that name none.
type placement struct {
	remoteNamespace string
	// stays holds the inventory ids of objects that are in the namespace default and stay there.
	stays map[string]bool
}

// inDefault returns the ids of objects that a Manifest has recorded in the namespace default although its module does
// not name that namespace. Upstream put objects without a namespace there. In another namespace they would be new
// objects, and pruning the old ones could lose the data of a volume or a StatefulSet.
func inDefault(m *v1beta2.Manifest, b *Bundle) map[string]bool {
	all := map[string]bool{}
	for _, e := range m.Status.Inventory {
		if _, name, err := e.Object(); err == nil && name.Namespace == metav1.NamespaceDefault {
			all[e.ID] = true
		}
	}
	if len(all) == 0 {
		return nil
	}
	for i := range b.Objects {
		if o := &b.Objects[i]; o.namespace == metav1.NamespaceDefault {
			delete(all, o.idInDefault())
		}
	}
	return all
}

// idInDefault returns the object's inventory id in the namespace default; empty if the id would be invalid.
func (o *Object) idInDefault() string {
	id, _ := v1beta2.InventoryID(o.GVK.GroupKind(), types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: o.name})
	return id
}

// place places one object. If the cluster does not serve its kind, meta.IsNoMatchError is true for the error.
func (in placement) place(ctx context.Context, o *Object, k kinds.Mapper) (Placed, error) {
	at := Placed{Object: o, Name: types.NamespacedName{Namespace: o.namespace, Name: o.name}}
	resource, err := k.Resource(ctx, o.GVK)
	if err != nil {
		return at, fmt.Errorf("look up kind %s: %w", o.GVK, err)
	}
	at.Resource = resource
	at.Name.Namespace = objects.NamespaceOf(resource, at.Name.Namespace, in.remoteNamespace)
	if resource.Namespaced && o.namespace == "" && len(in.stays) > 0 && in.stays[o.idInDefault()] {
		at.Name.Namespace = metav1.NamespaceDefault
	}
	if at.Entry, err = v1beta2.NewInventoryEntry(o.GVK, at.Name); err != nil {
		return at, fault.New(fault.Rejected, render.ReasonInvalidManifest, "%s: %w", at, err)
	}
	return at, nil
}

// All returns the objects of the plan in the order of their stages, followed by its hooks.
func (p *Plan) All() []Placed {
	return slices.Concat(slices.Concat(p.Stages[:]...), p.Before, p.After)
}

// Withhold removes objects, by inventory id, from what is applied. Their inventory entries stay.
func (p *Plan) Withhold(ids map[string]bool) {
	if len(ids) == 0 {
		return
	}
	withheld := func(at Placed) bool { return ids[at.Entry.ID] }
	for s := range p.Stages {
		p.Stages[s] = slices.DeleteFunc(p.Stages[s], withheld)
	}
	p.Before, p.After = slices.DeleteFunc(p.Before, withheld), slices.DeleteFunc(p.After, withheld)
}

// Objects returns the number of objects that should be in the cluster.
func (p *Plan) Objects() int { return len(p.Entries) + len(p.Unknown) }
