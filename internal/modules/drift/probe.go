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

// Difference is a module that differs from the status of its Manifest.
type Difference struct {
	Manifest *v1beta2.Manifest
	// Reason says how it differs. It is one of a few texts, without names, since it is the label of a metric.
	Reason string
}

// How a module differs. These are labels of a metric, and stay as they are.
const (
	differsInState     = "the module changed its state"
	differsInResources = "the module's resources drifted"
	differsInKnowledge = "the module's resources are not recorded yet"
	differsInSources   = "a Secret of the control plane changed"
	differsInConflicts = "a field ownership conflict has ended"
)

// Probe says which modules of one Kyma differ from the status of their Manifests: settled ones by the state of their
// default custom resources, with one request for each; these and those that are only waited for (OnlyWaitedFor) by the
// objects that were applied, with one LIST per kind for all modules together; the agent's kinds take turns by the number of
// the pass (sharesOf). It gets access to a cluster once. The
// Manifests may come from a cache that leaves out what is large; they are not changed, and a module that seems to have
// drifted is compared again with the live Manifest. Objects that have a module's ownership annotation and are not in its
// inventory are recorded in an Event, once a day.
//
// A default custom resource that is gone is no difference, unless it is to be created again: it belongs to its user.
// What cannot be read does not prevent the rest: then there are both differences and an error.
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

// site is a cluster with the modules that are in it.
type site struct {
	cluster *clusters.Cluster
	modules []*v1beta2.Manifest
}

// differences collects what is found.
type differences struct {
	mu     sync.Mutex
	all    []Difference
	failed []error
}

// add records a difference; only one for each module, since one reconcile handles all.
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

// probeAt checks the modules in one cluster. It returns an error only for what ends the whole pass.
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

// probed tells whether the state of a settled module depends on a custom resource that was created for it. Whether it has
// one is read from the condition, which no other module has: a cache may leave out spec.resource.
func probed(m *v1beta2.Manifest) bool {
	made := m.Status.DefaultCR
	return made != nil && made.UID != "" && meta.FindStatusCondition(m.Status.Conditions, string(shared.ConditionModuleCR)) != nil
}

// probe reports whether the default custom resource gives the module another state than the Manifest's status has.
func probe(ctx context.Context, rule shared.StateRule, c *clusters.Cluster, m *v1beta2.Manifest) (bool, error) {
	if lacksOptional(m) {
		forgetSkipped(c.Mapper, m)
		if appeared, err := optionalAppeared(ctx, c.Mapper, m); err != nil || appeared {
			return appeared, err
		}
	}
	if !probed(m) || !m.Status.Settled {
		// The workflow of its Kyma observes a module that has not settled.
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
