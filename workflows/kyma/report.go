package kyma

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attributes"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// moduleReport is a module's state that the Kyma's next report writes together with its own.
type moduleReport struct {
	in manifests.ReportInput
	// done is true once the state was written or the write failed. declined is true if the module has to write the
	// state itself.
	done, declined bool
	wrote          manifests.ReportResult
	fault          fault.Fault
}

// takeReport adds a module's state to the next report of the Kyma, and waits until it is written.
func (r *run) takeReport(ctx workflow.Context, in manifests.ReportInput) (*moduleReport, error) {
	report := &moduleReport{in: in}
	r.reports = append(r.reports, report)
	return report, workflow.Await(ctx, func() bool { return report.done })
}

// declineReports makes the modules write their own states, because the next step of the Kyma may take long.
func (r *run) declineReports() {
	for _, report := range r.reports {
		report.done, report.declined = true, true
	}
	r.reports = nil
}

// report only aggregates the status, after a Manifest's state changed.
func (r *run) report(ctx workflow.Context) error {
	pending, started := r.BeginPart(ctx)
	r.note(pending.Seen)
	reason := pending.Reason
	if len(r.reports) > 0 {
		reason, r.Urgent = "Manifest is "+string(r.reports[0].in.Observed.State), true // urgent, so that it makes no other kick wait longer
	}
	r.Doing(ctx, "aggregating the status: "+reason)
	if err := r.aggregate(ctx, r.state.OwedDigest, pending.Gone); err != nil {
		return err
	}
	if r.state.ReportFault.IsZero() {
		r.state.OwedDigest = ""
		r.EndPart(ctx, started)
	} else {
		r.End(ctx, started, r.worst())
		r.waitForNextReconcile(ctx)
	}
	r.forgetVersions()
	r.reconcileAgainIfNeeded()
	r.viewReport()
	return nil
}

// aggregate reads the Manifests' states and writes the status of the Kyma. gone is true if a Manifest was removed.
func (r *run) aggregate(ctx workflow.Context, digest string, gone bool) error {
	r.state.ReportFault = fault.Fault{}
	in := background.ReportInput(r.Ref, r.state.Sync)
	in.Faults = in.Faults.With(fault.PartSync, r.state.SyncFault).With(fault.PartResolve, r.state.ResolveFault)
	in.Seen, in.Deleted, in.ManifestGone = r.versions(), r.deleted, gone
	in.InputsDigest, in.Parked = digest, digest == "" && status.IsFinal(r.worst())
	in.Push = r.hasRemote() && r.state.SyncFault.IsZero()
	return r.writeReport(ctx, in)
}

// reportRemoval writes the status of a Kyma under deletion. With again, it also writes the remote copy if the cluster
// was unreachable last time: no other step reaches the cluster while modules remain. It then drops a transient fault
// from an earlier attempt.
func (r *run) reportRemoval(ctx workflow.Context, in status.ReportInput, again bool) error {
	if again && r.state.SyncFault.Kind == fault.Transient {
		r.state.SyncFault = fault.Fault{}
	}
	in.Ref = r.Ref
	in.Faults = fault.Parts{}.With(fault.PartSync, r.state.SyncFault).With(fault.PartResolve, r.state.ResolveFault)
	in.Push = r.hasRemote() && (again || r.state.SyncFault.IsZero())
	return r.writeReport(ctx, in)
}

func (r *run) writeReport(ctx workflow.Context, in status.ReportInput) error {
	queue, summary := kick.ControlPlaneQueue, "aggregate the status"
	if in.Push {
		queue, summary = kick.RemoteQueue, "aggregate the status, also in the remote cluster"
	}
	var res background.ReportModulesResult
	var err error
	reports := r.reports
	if r.reports = nil; len(reports) == 0 {
		err = r.Do(ctx, queue, summary, &res.Kyma, r.status.ReportKyma, in)
	} else {
		both := background.ReportModulesInput{Kyma: in}
		var refs []kick.Ref
		for _, report := range reports {
			both.Modules, refs = append(both.Modules, report.in), append(refs, report.in.Ref)
		}
		err = r.Do(ctx, queue, "report "+r.names(refs)+", and "+summary, &res, r.inBackground.ReportModules, both)
	}
	for i, report := range reports {
		if report.done = true; err != nil {
			report.fault = fault.FromTemporal(err)
			continue
		}
		report.wrote, report.fault = res.Modules[i].ReportResult, res.Modules[i].Fault
	}
	if temporal.IsCanceledError(err) {
		return err
	}
	if r.state.ReportFault = fault.FromTemporal(err); !r.state.ReportFault.IsZero() {
		return nil
	}
	return r.written(ctx, res.Kyma, in.Push)
}

// written records the reported status. push is true if the remote copy was to be written too.
func (r *run) written(ctx workflow.Context, res status.ReportResult, push bool) error {
	r.state.Last = res
	r.ends(res.Outcome == status.OutcomeGone, res.Deleting)
	if r.gone() {
		return nil
	}
	if res.Pushed || push && !res.Push.IsZero() {
		r.state.SyncFault = res.Push
	}
	return r.publishReport(ctx)
}

// hasRemote reports whether there may be a remote cluster.
func (r *run) hasRemote() bool {
	return r.state.Sync.Outcome == syncing.OutcomeSynced || r.state.Sync.Outcome == syncing.OutcomeDeleting
}

// publishAfter is how long a Kyma is Processing before the search attributes say so. Most Kymas are Processing for a
// few seconds only, and each change of search attributes is a write in Temporal's visibility store.
const publishAfter = 20 * time.Second

// publishReport upserts the search attributes from the last report.
func (r *run) publishReport(ctx workflow.Context) error {
	if r.state.Last.State != shared.StateProcessing {
		r.state.ProcessingSince = time.Time{}
	} else if now := workflow.Now(ctx); r.state.ProcessingSince.IsZero() {
		r.state.ProcessingSince = now
		return nil
	} else if now.Sub(r.state.ProcessingSince) < publishAfter {
		return nil
	}
	var failing []string
	for _, m := range r.state.Last.Modules {
		if m.State == shared.StateError {
			failing = append(failing, m.Name)
		}
	}
	slices.Sort(failing)
	return attributes.Publish(ctx, r.state.Published, map[string]string{
		kick.AttributeKymaName:      r.Ref.Name,
		kick.AttributeKymaState:     string(r.state.Last.State),
		kick.AttributeKymaChannel:   r.state.Last.Channel,
		kick.AttributeRemoteCluster: r.state.Sync.Cluster,
	}, failing)
}

// viewReport copies the last report and the work on modules into the status query's answer and the current details.
func (r *run) viewReport() {
	last := r.state.Last
	r.View.Forced, r.View.LastFault = r.state.Purge.Forced, r.Fault
	r.View.State, r.View.Message, r.View.Modules = string(last.State), last.Message, nil
	working := map[string]view.Row{}
	for _, m := range r.modules {
		row := m.row()
		working[row.Name] = row
	}
	for _, reported := range last.Modules {
		row := view.Row{Name: reported.Name, Version: reported.Version, State: string(reported.State), Message: reported.Message}
		if at, ok := working[reported.Name]; ok {
			row.Doing, row.WaitingFor, row.Since, row.Attempt = at.Doing, at.WaitingFor, at.Since, at.Attempt
			delete(working, reported.Name)
		}
		r.View.Modules = append(r.View.Modules, row)
	}
	for _, m := range r.modules {
		if row, ok := working[m.row().Name]; ok {
			r.View.Modules = append(r.View.Modules, row)
		}
	}
}
