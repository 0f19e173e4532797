package drift

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// Difference is a module that differs from its Manifest's status.
type Difference struct {
	Manifest *v1beta2.Manifest
	// Reason is how the module differs. It is one of a few texts without names, because it is the label of a metric.
	Reason string
}

// Reasons of a Difference. They are labels of a metric and must not change.
const (
	differsInState     = "the module changed its state"
	differsInResources = "the module's resources drifted"
	differsInKnowledge = "the module's resources are not recorded yet"
	differsInSources   = "a Secret of the control plane changed"
	differsInConflicts = "a field ownership conflict has ended"
)

// Probe returns the modules of one Kyma that differ from the status of their Manifests. It gets access to a cluster
// once and makes these checks:
//
//   - For a settled module, it checks the state of the default custom resource, with one request.
//   - For settled modules and modules that are only waited for (OnlyWaitedFor), it compares the applied objects,
//     with one LIST per kind for all modules together. The number of the pass decides which of the agent's kinds
//     are compared (sharesOf).
//
// The Manifests may come from a cache that leaves out large fields; Probe does not change them. A module that seems
// to have drifted is compared again with the live Manifest. Objects that have a module's ownership annotation but are
// not in its inventory are recorded in an Event, once a day.
//
// A missing default custom resource is no difference, because it belongs to its user, unless it has to be created
// again. A failed read does not stop the other checks: Probe then returns both differences and an error.
func (a *Prober) Probe(ctx context.Context, cached []*v1beta2.Manifest, pass int) ([]Difference, error) {
	places := map[bool]*site{}
	for _, m := range cached {
		if !m.IsMaintained() {
			continue
		}
		at := places[desired.InControlPlane(m)]
		if at == nil {
			cluster, err := a.steps.Reach(ctx, m)
			if err != nil {
				return nil, err
			}
			at = &site{cluster: cluster}
			places[desired.InControlPlane(m)] = at
		}
		at.modules = append(at.modules, m)
	}
	found := &differences{}
	for _, at := range places {
		if err := a.probeAt(ctx, at, pass, found); err != nil {
			return found.all, errors.Join(append(found.failed, err)...)
		}
	}
	return found.all, errors.Join(found.failed...)
}

// site is a cluster with its modules.
type site struct {
	cluster *clusters.Cluster
	modules []*v1beta2.Manifest
}

// differences collects the results of the checks.
type differences struct {
	mu     sync.Mutex
	all    []Difference
	failed []error
}

// add records a difference. It keeps one for each module, because one reconcile handles all.
func (d *differences) add(m *v1beta2.Manifest, reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.ContainsFunc(d.all, func(known Difference) bool { return known.Manifest == m }) {
		d.all = append(d.all, Difference{Manifest: m, Reason: reason})
	}
}

func (d *differences) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = append(d.failed, err)
}

// probeAt checks the modules in one cluster. It returns an error only if the whole pass has to end.
func (a *Prober) probeAt(ctx context.Context, at *site, pass int, found *differences) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(objects.ParallelLists)
	for _, m := range at.modules {
		if !probed(m) && !lacksOptional(m) {
			continue
		}
		group.Go(func() error {
			differs, err := probe(groupCtx, a.steps.Options.Settings.StateRule, at.cluster, m)
			if err != nil && objects.EndsPass(groupCtx, err) {
				return clusters.Classify(err)
			}
			if err != nil {
				found.fail(clusters.Classify(err))
			}
			if differs {
				found.add(m, differsInState)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return a.compareObjects(ctx, at, pass, found)
}

// probed reports whether the state of a module depends on a custom resource that was created for it. It reads that
// from the condition, which no other module has, because a cache may leave out spec.resource.
func probed(m *v1beta2.Manifest) bool {
	made := m.Status.DefaultCR
	return made != nil && made.UID != "" && meta.FindStatusCondition(m.Status.Conditions, string(shared.ConditionModuleCR)) != nil
}

// probe reports whether the default custom resource gives the module a state other than the one in the Manifest's
// status.
func probe(ctx context.Context, rule shared.StateRule, c *clusters.Cluster, m *v1beta2.Manifest) (bool, error) {
	if lacksOptional(m) {
		forgetSkipped(c.Mapper, m)
		if appeared, err := optionalAppeared(ctx, c.Mapper, m); err != nil || appeared {
			return appeared, err
		}
	}
	if !probed(m) || !m.Status.Settled {
		// The Kyma's workflow observes a module that has not settled.
		return false, nil
	}
	reported := shared.StateReady
	if recreates := readiness.RecreatesDefaultCR(m); recreates || !rule.OnlyWorkloads() {
		gvk, name := inventory.RecordedCR(m.Status.DefaultCR)
		cr, err := objects.Recorded(ctx, c, gvk, name)
		if err != nil || cr == nil {
			return err == nil && recreates, err
		}
		if reported, err = readiness.ReportedState(rule, m, cr); err != nil {
			return false, err
		}
	}
	observed := readiness.Judge(readiness.Health{}, readiness.ManagerHealth{},
		readiness.ModuleCR{Tracked: true, Exists: true, State: reported})
	return readiness.WithConflicts(observed, m.Status.Corrections).State != m.Status.KnownState(), nil
}
