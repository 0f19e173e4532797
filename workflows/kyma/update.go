package kyma

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// ReconcileRequest is the input of the reconcile update. It is optional.
type ReconcileRequest struct {
	// Modules names modules to compare with their cluster and repair, even if they have settled. All other modules
	// get work only if they have changed or have not settled.
	Modules []string `json:"modules,omitempty"`
}

// ReconcileResult is the answer to the reconcile update.
type ReconcileResult struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Completed is false if the reconcile did not end within the update's 30 seconds. The state is then the last
	// known one.
	Completed bool `json:"completed"`
	// Modules are the modules that the request named.
	Modules []status.Module `json:"modules,omitempty"`
}

// serve registers the query and the updates.
func (r *run) serve(ctx workflow.Context) error {
	if err := r.Serve(ctx, kick.UpdateReconcile, r.reconcileNow, r.mayReconcileNow); err != nil {
		return err
	}
	return r.ServeUpdate(ctx, kick.UpdatePurge, r.purgeNow, nil)
}

// mayReconcileNow refuses requests that this run cannot answer, and names of modules that the Kyma does not have.
func (r *run) mayReconcileNow(_ workflow.Context, in ReconcileRequest) error {
	if err := r.Refuse(); err != nil {
		return err
	}
	for _, name := range in.Modules {
		known := slices.ContainsFunc(r.state.Last.Modules, func(m status.Module) bool { return m.Name == name })
		if r.state.Reconciled && !known && r.moduleNamed(name) == nil {
			return temporal.NewNonRetryableApplicationError(fmt.Sprintf("the Kyma has no module %q", name), "UnknownModule", nil)
		}
	}
	return nil
}

// reconcileNow requests a new reconcile and waits until it has ended. It also waits for the steps of the modules that
// the request names.
func (r *run) reconcileNow(ctx workflow.Context, in ReconcileRequest) (ReconcileResult, error) {
	wanted := r.Started + 1
	const reason = "reconcile requested"
	for _, name := range in.Modules {
		if m := r.moduleNamed(name); m != nil {
			r.begin([]kick.Ref{m.Ref}, kick.Kick{Reason: reason, Urgent: true})
		} else {
			r.named = append(r.named, name)
		}
	}
	r.Box.Put(kick.Kick{Reason: reason, Urgent: true})
	ended := func() bool {
		working := slices.ContainsFunc(in.Modules, func(name string) bool {
			m := r.moduleNamed(name)
			return m != nil && m.inStep()
		})
		return r.Ended >= wanted && !working && (len(in.Modules) == 0 || !r.Box.Pending.Urgent) // an urgent kick brings news of a module
	}
	completed, err := r.AwaitRequested(ctx, "a caller waits for a reconcile to end", ended)
	if err != nil {
		return ReconcileResult{}, err
	}
	result := ReconcileResult{State: string(r.state.Last.State), Message: r.state.Last.Message, Completed: completed}
	result.Modules = lists.Filter(r.state.Last.Modules, func(m status.Module) bool { return slices.Contains(in.Modules, m.Name) })
	return result, nil
}

// moduleNamed returns the work on the module with this name, or nil if there is none.
func (r *run) moduleNamed(name string) *moduleRun {
	return lists.First(r.modules, func(m *moduleRun) bool { return m.state.Module == name })
}
