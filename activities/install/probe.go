package install

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Probe says which of the settled modules of one Kyma are no longer in the state that their Manifest shows, by
// what their default custom resources say, and with one request for each. It gets access to a cluster once.
// The Manifests may come from a cache that leaves out what is large; they are not changed.
//
// A module without a default custom resource is not looked at. One whose default custom resource is gone is as
// it was, unless it is to come back. What could not be read does not keep the others from it: then there are
// both modules and an error.
func (a *Activities) Probe(ctx context.Context, cached []*v1beta2.Manifest) ([]*v1beta2.Manifest, error) {
	access := map[bool]*clusters.Cluster{}
	var due []*v1beta2.Manifest
	for _, m := range cached {
		if !probed(m) && !lacksOptional(m) {
			continue
		}
		due = append(due, m)
		if access[m.Spec.Remote] != nil {
			continue
		}
		cluster, err := a.target(ctx, m)
		if err != nil {
			return nil, err
		}
		access[m.Spec.Remote] = cluster
	}
	var mu sync.Mutex
	var changed []*v1beta2.Manifest
	var failed []error
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listsAtOnce)
	for _, m := range due {
		group.Go(func() error {
			differs, err := probe(ctx, access[m.Spec.Remote], m)
			if err != nil && endsPass(ctx, err) {
				return clusters.Classify(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, clusters.Classify(err))
			}
			if differs {
				changed = append(changed, m)
			}
			return nil
		})
	}
	err := group.Wait()
	return changed, errors.Join(append(failed, err)...)
}

// probed tells whether the state of a settled module follows from a custom resource that was made for it. That
// it has one is taken from the condition, which is there for no other: a cache may leave out spec.resource.
func probed(m *v1beta2.Manifest) bool {
	made := m.Status.DefaultCR
	return made != nil && made.UID != "" && meta.FindStatusCondition(m.Status.Conditions, string(shared.ConditionModuleCR)) != nil &&
		m.DeletionTimestamp.IsZero() && !m.IsSkipReconciliation() && !m.IsUnmanaged()
}

// probe tells whether the default custom resource says something else than the Manifest's status.
func probe(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest) (bool, error) {
	if lacksOptional(m) {
		if appeared, err := optionalAppeared(ctx, c.Mapper, m); err != nil || appeared {
			return appeared, err
		}
	}
	if !probed(m) {
		return false, nil
	}
	checks, err := stateChecks(m)
	if err != nil {
		return false, err
	}
	gvk, name := recordedCR(m.Status.DefaultCR)
	resource, err := c.Mapper.Resource(ctx, gvk)
	if meta.IsNoMatchError(err) {
		return recreates(m), nil
	}
	if err != nil {
		return false, fmt.Errorf("look up kind %s: %w", gvk.Kind, err)
	}
	cr, err := c.Dynamic.Resource(resource.GroupVersionResource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return recreates(m), nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", describe(gvk.Kind, name), err)
	}
	says := judge(health{}, managerHealth{}, moduleCR{tracked: true, exists: true, state: MapState(cr, checks)})
	return says.State != m.Status.State, nil
}

// recreates tells whether the default custom resource is made again after its user deleted it.
func recreates(m *v1beta2.Manifest) bool {
	return m.Annotations[shared.AnnotationRecreateDefaultCR] == shared.ValueTrue
}
