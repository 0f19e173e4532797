package install

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// plan is what is to be applied to one cluster for one Manifest.
type plan struct {
	stages [stageCount][]placed
	// entries are the inventory of all that is to be applied, without uids and hashes.
	entries []v1beta2.InventoryEntry
	// unknown are objects whose kind the cluster does not know, optional ones left out.
	unknown []placed
	// version and ref are what is installed when all of the plan is applied.
	version, ref string
}

// placed is an object with its place in a cluster.
type placed struct {
	object   *object
	resource clusters.Resource
	name     types.NamespacedName
	entry    v1beta2.InventoryEntry
}

func (p placed) String() string { return describe(p.object.gvk.Kind, p.name) }

// planOf places the objects of a bundle: how each is addressed, and in which namespace. An object that names
// a namespace although its kind has none loses it, as with kubectl.
func planOf(ctx context.Context, b *bundle, k kinds, remoteNamespace string) (plan, error) {
	var p plan
	seen := map[string]bool{}
	for i := range b.objects {
		o := &b.objects[i]
		at := placed{object: o, name: types.NamespacedName{Name: o.name}}
		resource, err := k.resource(ctx, o.gvk)
		if meta.IsNoMatchError(err) {
			if !o.optional {
				at.name.Namespace = o.namespace
				p.unknown = append(p.unknown, at)
			}
			continue
		}
		if err != nil {
			return plan{}, fmt.Errorf("look up kind %s: %w", o.gvk, err)
		}
		at.resource = resource
		if resource.Namespaced {
			if at.name.Namespace = o.namespace; at.name.Namespace == "" {
				at.name.Namespace = remoteNamespace
			}
		}
		if at.entry, err = v1beta2.NewInventoryEntry(o.gvk, at.name); err != nil {
			return plan{}, fault.New(fault.Rejected, artifacts.ReasonInvalidManifest, "%s: %w", at, err)
		}
		if seen[at.entry.ID] {
			return plan{}, fault.New(fault.Rejected, artifacts.ReasonInvalidManifest, "%s is there twice, once with and once without its namespace", at)
		}
		seen[at.entry.ID] = true
		p.stages[o.stage] = append(p.stages[o.stage], at)
		p.entries = append(p.entries, at.entry)
	}
	return p, nil
}

// objects is the number of objects that ought to be in the cluster.
func (p *plan) objects() int { return len(p.entries) + len(p.unknown) }
