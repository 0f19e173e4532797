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

// moduleReport is the state of a module that is to be written together with that of the Kyma.
type moduleReport struct {
	in manifests.ReportInput
	// done is true once it was written, or that failed. With declined, the module has to write it by itself.
	done, declined bool
	wrote          manifests.ReportResult
	fault          fault.Fault
}

// takeReport has a module's state written with the next report of the Kyma, and waits for that.
func (r *run) takeReport(ctx workflow.Context, in manifests.ReportInput) (*moduleReport, error) {
	report := &moduleReport{in: in}
	r.reports = append(r.reports, report)
	return report, workflow.Await(ctx, func() bool { return report.done })
}

// declineReports leaves it to the modules to write their states: the next step of the Kyma may take long.
func (r *run) declineReports() {
	for _, report := range r.reports {
		report.done, report.declined = true, true
	}
	r.reports = nil
}

// report aggregates the status alone: what changed is the state of a Manifest.
func (r *run) report(ctx workflow.Context) error {
	pending, started := r.BeginPart(ctx)
	r.note(pending.Seen)
	reason := pending.Reason
	if len(r.reports) > 0 {
		reason, r.Urgent = "Manifest is "+string(r.reports[0].in.Observed.State), true // which makes no kick wait longer
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

// aggregate reads the Manifests' states and writes the one status of the Kyma. Gone is true when a Manifest was removed.
func (r *run) aggregate(ctx workflow.Context, digest string, gone bool) error {
	r.state.ReportFault = fault.Fault{}
	in := background.ReportInput(r.Ref, r.state.Sync)
	in.Faults = in.Faults.With(fault.PartSync, r.state.SyncFault).With(fault.PartResolve, r.state.ResolveFault)
	in.Seen, in.Deleted, in.ManifestGone = r.versions(), r.deleted, gone
	in.InputsDigest, in.Parked = digest, digest == "" && status.IsFinal(r.worst())
	in.Push = r.hasRemote() && r.state.SyncFault.IsZero()
	return r.writeReport(ctx, in)
}

// reportRemoval writes the status of a Kyma under deletion. With again its remote copy is written also where the
// cluster was not reached last time: nothing else asks it while modules remain. A transient fault of then is not reported
// now.
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

// written notes what the status says now, and with push its remote copy too.
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

// hasRemote tells whether there may be a remote cluster.
func (r *run) hasRemote() bool {
	return r.state.Sync.Outcome == syncing.OutcomeSynced || r.state.Sync.Outcome == syncing.OutcomeDeleting
}

// publishAfter is how long a Kyma is Processing before searches find it so. Most are for a few seconds, and each change of search
// attributes is a write of Temporal's visibility.
const publishAfter = 20 * time.Second

// publishReport upserts what the last report says for searches.
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

// viewReport copies the last report, and the work on modules, into what the query and the current details show.
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
