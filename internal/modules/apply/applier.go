// Package apply applies a rendered module to a cluster with server-side apply.
//
// A reconcile works on an Installation, in this order:
//
//	job, err := applier.Prepare(ctx, manifest) // access, layers, rendering, plan; writes nothing
//	err = job.ExcludeAccess(ctx)               // drop objects that grant our own access
//	err = applier.Survey(ctx, job)             // read what was applied before
//	outcomes, err := applier.ApplyStages(ctx, job)
//	outcome, observed := outcomes.Judge(job, now, patience)
//
// ApplyStages applies the objects of one stage in parallel, and one stage after the other: a namespace before its
// objects, a definition before its custom resources. A chart's pre-hooks run after its namespaces and
// definitions, and before all other objects. RunHooks runs its post-hooks later.
//
// What must stay true:
//
//   - Each object is applied on its own. One refused object does not keep the others from being applied.
//   - An object that was applied before and has not changed is not applied again.
//   - Objects carry the owner's mark (see package inventory). An object that belongs to another module is
//     refused, and a namespace that existed before us is shared, not owned.
//   - Messages never repeat a field's value, because it can be secret (see Refusal).
//   - Nothing here writes the status of a Manifest, except to record which hooks have run.
//
// Previewer renders a Manifest without a cluster.
package apply

import (
	"cmp"
	"errors"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// Options configures how modules are applied.
type Options struct {
	Artifacts *artifacts.Store
	// Parallel is how many objects of one module are applied or removed concurrently. The default is 8.
	Parallel int
	// BundleBytes bounds the encoded modules that are kept in memory. The default is 128 MiB.
	BundleBytes int64
	// MissingAPITimeout is how long a module waits for a kind that the cluster does not serve before the missing kind
	// becomes an error of the module. The same applies to any other object that cannot be applied yet. The default is 10
	// min.
	MissingAPITimeout time.Duration
	// HookPatience is how long one reconcile waits for the hooks of a chart. The next reconcile waits for a hook that
	// takes longer. The default is 20 s.
	HookPatience time.Duration
}

// Applier prepares and applies modules. All Manifests share one Applier.
type Applier struct {
	Options Options
	steps   *manifests.Steps
	bundles *artifacts.Cache[*bundle.Bundle]
}

// New returns an Applier. Options.Artifacts must not be nil.
func New(steps *manifests.Steps, o Options) (*Applier, error) {
	if o.Artifacts == nil {
		return nil, errors.New("apply: Options.Artifacts must not be nil")
	}
	o.Parallel = cmp.Or(o.Parallel, 8)
	o.BundleBytes = cmp.Or(o.BundleBytes, 128<<20)
	o.MissingAPITimeout = cmp.Or(o.MissingAPITimeout, 10*time.Minute)
	o.HookPatience = cmp.Or(o.HookPatience, 20*time.Second)
	return &Applier{Options: o, steps: steps, bundles: artifacts.NewCache[*bundle.Bundle](o.BundleBytes)}, nil
}
