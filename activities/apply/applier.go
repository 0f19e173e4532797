// Package apply applies a rendered module to a cluster: what it has is prepared without a write, and then applied in
// stages with server-side apply, hooks before and after, each object on its own, so that one that fails keeps no other
// from being applied. What was applied before and is as it was is left alone.
//
// Applier.Prepare and Applier.ApplyStages are the entry points. Nothing here writes what a Manifest says of its state.
package apply

import (
	"errors"
	"time"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/bundle"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
)

// Options configure how modules are applied.
type Options struct {
	Artifacts *artifacts.Store
	// Parallel is how many objects of one module are applied or removed at once; 8.
	Parallel int
	// BundleBytes bounds the encoded modules that are kept in memory; 128 MiB.
	BundleBytes int64
	// MissingAPITimeout is how long a kind that the cluster does not know is waited for before that is an
	// error of the module, and so is whatever else of its objects should be applied by then; 10 min.
	MissingAPITimeout time.Duration
	// HookPatience is how long one pass waits for the hooks of a chart; one that takes longer is found by the
	// next pass; 20 s.
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
	if o.Parallel == 0 {
		o.Parallel = 8
	}
	if o.BundleBytes == 0 {
		o.BundleBytes = 128 << 20
	}
	if o.MissingAPITimeout == 0 {
		o.MissingAPITimeout = 10 * time.Minute
	}
	if o.HookPatience == 0 {
		o.HookPatience = 20 * time.Second
	}
	return &Applier{Options: o, steps: steps, bundles: artifacts.NewCache[*bundle.Bundle](o.BundleBytes)}, nil
}
