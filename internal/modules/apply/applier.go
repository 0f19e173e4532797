// Package apply applies a rendered module to a cluster: its objects are prepared without a write, and then applied in
// stages with server-side apply, with hooks before and after. Each object is applied on its own, so that one that fails
// keeps no other from being applied. What was applied before and has not changed is not applied again.
//
// Applier.Prepare and Applier.ApplyStages are the entry points. Nothing here writes the status of a Manifest, but for the
// record of the hooks that ran.
package apply

import (
	"cmp"
	"errors"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// Options configure how modules are applied.
type Options struct {
	Artifacts *artifacts.Store
	// Parallel is how many objects of one module are applied or removed at once; 8.
	Parallel int
	// BundleBytes bounds the encoded modules that are kept in memory; 128 MiB.
	BundleBytes int64
	// MissingAPITimeout is how long we wait for a kind that the cluster does not know before that is an error of the
	// module, and so is any other object that should be applied by then; 10 min.
	MissingAPITimeout time.Duration
	// HookPatience is how long one reconcile waits for the hooks of a chart; the next reconcile finds one that takes
	// longer; 20 s.
	HookPatience time.Duration
}

// Applier prepares and applies modules. It is shared by all Manifests.
type Applier struct {
	Options Options
	steps   *manifests.Steps
	bundles *artifacts.Cache[*bundle.Bundle]
}

// New returns the applier.
func New(steps *manifests.Steps, o Options) (*Applier, error) {
	if o.Artifacts == nil {
		return nil, errors.New("apply: Artifacts must be given")
	}
	o.Parallel = cmp.Or(o.Parallel, 8)
	o.BundleBytes = cmp.Or(o.BundleBytes, 128<<20)
	o.MissingAPITimeout = cmp.Or(o.MissingAPITimeout, 10*time.Minute)
	o.HookPatience = cmp.Or(o.HookPatience, 20*time.Second)
	return &Applier{Options: o, steps: steps, bundles: artifacts.NewCache[*bundle.Bundle](o.BundleBytes)}, nil
}
