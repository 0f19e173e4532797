package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/drift"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Survey reads the objects that were applied before, so that only changed objects are applied. A first installation
// has none and costs no request.
func (a *Applier) Survey(ctx context.Context, job *Installation) error {
	wanted := lists.Set(job.Plan.Entries, func(e v1beta2.InventoryEntry) string { return e.ID })
	applied := map[schema.GroupKind]schema.GroupVersionKind{}
	job.Repair.Recorded = map[string]v1beta2.InventoryEntry{}
	for _, e := range job.Manifest.Status.Inventory {
		job.Repair.Recorded[e.ID] = e
		if gvk, _, err := e.Object(); err == nil && e.UID != "" && wanted[e.ID] && !inventory.RunsOnce(e) {
			applied[gvk.GroupKind()] = gvk
		}
	}
	if len(applied) == 0 {
		return nil
	}
	surveyor := objects.Surveyor{Target: job.Target, Selector: job.Owner.Selector(), InFull: objects.NothingInFull}
	if job.Repair.Only {
		surveyor.InFull = objects.ReadInFull
	}
	before, err := surveyor.Read(ctx, applied)
	if err != nil {
		return err
	}
	job.Repair.Surveyed, job.Repair.Before = true, before
	return scalings(ctx, job)
}

// scalings records which workloads were scaled by others, and whether an autoscaler targets them. It costs one
// request for each namespace with scaled workloads, and none without them.
func scalings(ctx context.Context, job *Installation) error {
	job.Repair.Scaled = map[string]drift.Scaling{}
	autoscalers := readiness.NewAutoscalers(job.Cluster)
	for _, p := range job.Plan.All() {
		seen, there := job.Repair.Before.Seen[p.Entry.ID]
		if !there || !inventory.ScaledByOthers(seen.Meta) {
			continue
		}
		autoscaled, err := autoscalers.Scales(ctx, p.Object.GVK.Kind, p.Name.Namespace, p.Name.Name)
		if err != nil {
			return clusters.Classify(err)
		}
		rendered, err := bundle.HasReplicas(p.Object.Body.Fill(job.Owner))
		if err != nil {
			return err
		}
		job.Repair.Scaled[p.Entry.ID] = drift.Scaling{Autoscaled: autoscaled, Rendered: rendered}
	}
	return nil
}

// JudgeRepaired returns the state of a settled module after a reconcile that only corrected drift, from what this
// reconcile has read. It returns false if something was applied that has to become healthy first, or if something
// could not be read.
func (a *Applier) JudgeRepaired(ctx context.Context, job *Installation) (readiness.Observed, bool, error) {
	m, r := job.Manifest, &job.Repair
	if !r.Only || !r.Surveyed || r.Unsettled || len(r.Before.Failed) > 0 || !m.Status.Settled {
		return readiness.Observed{}, false, nil
	}
	o := readiness.NewObserver(job.Target, a.steps.Options.Settings.StateRule, a.steps.Options.Clock())
	o.Total = inventory.Count(m.Status.Inventory)
	for _, e := range m.Status.Inventory {
		gvk, _, err := e.Object()
		if err != nil || e.Leaving || inventory.RunsOnce(e) || !readiness.Counts(a.steps.Options.Settings.StateRule, gvk.GroupKind()) {
			continue
		}
		seen, there := r.Before.Seen[e.ID]
		if !there {
			return readiness.Observed{}, false, nil
		}
		if err := o.Note(ctx, e, seen.Body(), seen.Meta); err != nil {
			return readiness.Observed{}, false, err
		}
	}
	manager, err := o.Manager(ctx, m, a.steps.RemoteNamespace(m))
	if err != nil {
		return readiness.Observed{}, false, err
	}
	cr, err := o.ModuleCR(ctx, m)
	if err != nil {
		return readiness.Observed{}, false, err
	}
	observed := readiness.WithConflicts(readiness.Judge(o.Health, manager, cr), r.NextCorrections(m.Status.Corrections, a.steps.Now()))
	settled := !observed.DefaultCRWanted && (observed.State == shared.StateReady || observed.State == shared.StateWarning)
	return observed, settled, nil
}
