package install

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/drift"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// observeUnfetched returns the state of a module that is installed as wanted, but whose layers cannot be fetched for a
// repair. The state comes from the cluster and the inventory, and names the objects that wait for the repair. Otherwise
// the module would keep showing its state from before the drift, or only the registry's fault. observeUnfetched returns
// false if the module is not in this situation, or if its cluster cannot be read either.
func (a *Activities) observeUnfetched(ctx context.Context, m *v1beta2.Manifest, digest string, failure error) (readiness.Observed, bool) {
	f := fault.Of(failure)
	if f.Kind != fault.Transient || !artifacts.MayPass(f.Reason) || m.Status.InputsDigest != digest || m.Status.InstalledRef != inventory.LayersRef(m) {
		return readiness.Observed{}, false
	}
	cluster, err := a.steps.Target(ctx, m)
	if err != nil {
		return readiness.Observed{}, false
	}
	observed, err := readiness.Observe(ctx, cluster, m, a.observing(m))
	if err != nil {
		return readiness.Observed{}, false
	}
	gone, changed, err := drift.Drifted(ctx, objects.NewTarget(m, cluster, nil), a.steps.Options.Clock())
	if err != nil {
		return readiness.Observed{}, false
	}
	return withoutRepair(observed, gone, changed, f), true
}

// withoutRepair adds the objects that wait for the registry to the observed state of a module.
func withoutRepair(o readiness.Observed, gone, changed []string, f fault.Fault) readiness.Observed {
	o.DefaultCRWanted = false
	var drifted string
	switch {
	case len(gone) > 0 && len(changed) > 0:
		drifted = "missing: " + objects.FirstOf(gone) + "; changed: " + objects.FirstOf(changed)
	case len(gone) > 0:
		drifted = "missing: " + objects.FirstOf(gone)
	case len(changed) > 0:
		drifted = "changed: " + objects.FirstOf(changed)
	case o.State == shared.StateReady:
		// Nothing has drifted. The conditions stay true.
		o.Reason, o.Message, o.Hint = f.Reason, "the module is ready, but its layers cannot be fetched: "+f.Message, f.Hint
		return o
	default:
		return o
	}
	failed := o.State == shared.StateError && o.Message != ""
	own := o.Message
	o.Reason, o.Hint = f.Reason, f.Hint
	o.Message = drifted + "; the repair waits for the registry: " + f.Message
	if failed {
		o.Message = own + "; " + o.Message
	}
	switch {
	case len(gone) > 0:
		o.State = shared.StateError
	case o.State == shared.StateReady:
		o.State = shared.StateWarning
	}
	o.Message = fault.Message(o.Message)
	return o
}
