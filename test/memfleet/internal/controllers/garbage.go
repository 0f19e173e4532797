package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/apis"
	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// removed plans what follows from an object's end: its dependents go, and what waits for it is checked again.
func (m *Manager) removed(c *store.Cluster, change store.Change, now time.Time) {
	at := now.Add(m.options.CollectAfter)
	uid := change.Before.UID()
	owners := change.Before.Owners()
	for _, resource := range c.Resources() {
		for _, r := range c.All(resource, "") {
			if ownedBy(r, uid) {
				m.timers.add(task{c, taskCollect, resource, r.Key()}, at)
			}
			if r.Deleting() && slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == r.UID() }) {
				// One that is deleted in the foreground waits for its dependents.
				m.timers.add(task{c, taskFinish, resource, r.Key()}, at)
			}
		}
	}
	namespace, _, namespaced := strings.Cut(change.Before.Key(), "/")
	if r := c.Get(apis.Namespaces(), namespace); namespaced && r != nil && r.Deleting() {
		m.timers.add(task{c, taskEmptyNamespace, apis.Namespaces(), namespace}, at)
	}
	if r := c.Get(apis.Definitions(), change.Resource.String()); r != nil && r.Deleting() {
		m.timers.add(task{c, taskDefinitionGone, apis.Definitions(), r.Key()}, at)
	}
}

func ownedBy(r *store.Record, uid types.UID) bool {
	return slices.ContainsFunc(r.Owners(), func(o metav1.OwnerReference) bool { return o.UID == uid })
}

// collect removes an object without any remaining owner.
func (m *Manager) collect(ctx context.Context, t task) error {
	r := t.cluster.Get(t.resource, t.key)
	if r == nil || r.Deleting() || len(r.Owners()) == 0 {
		return nil
	}
	for _, owner := range r.Owners() {
		if exists(t.cluster, owner.UID) {
			return nil
		}
	}
	return m.delete(ctx, t.cluster, t.resource, r, metav1.DeletePropagationBackground)
}

func exists(c *store.Cluster, uid types.UID) bool {
	for _, resource := range c.Resources() {
		if slices.ContainsFunc(c.All(resource, ""), func(r *store.Record) bool { return r.UID() == uid }) {
			return true
		}
	}
	return false
}

// finish does what the finalizers of the garbage collector mean, and removes them.
func (m *Manager) finish(ctx context.Context, t task) error {
	r := t.cluster.Get(t.resource, t.key)
	if r == nil || !r.Deleting() {
		return nil
	}
	client, name, err := m.clientFor(t.cluster, t.resource, r.Key())
	if err != nil {
		return err
	}
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	finalizers := live.Finalizers
	if slices.Contains(finalizers, metav1.FinalizerOrphanDependents) {
		if err := m.orphan(ctx, t.cluster, r.UID()); err != nil {
			return err
		}
		finalizers = without(finalizers, metav1.FinalizerOrphanDependents)
	}
	if slices.Contains(finalizers, metav1.FinalizerDeleteDependents) {
		remaining, err := m.deleteDependents(ctx, t.cluster, r.UID())
		if err != nil {
			return err
		}
		if !remaining {
			finalizers = without(finalizers, metav1.FinalizerDeleteDependents)
		}
	}
	// Nothing uses volumes.
	finalizers = without(without(finalizers, apis.FinalizerClaim), apis.FinalizerVolume)
	if len(finalizers) == len(live.Finalizers) {
		return nil
	}
	return patch(ctx, client, live, map[string]any{"finalizers": finalizers})
}

func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}

func (m *Manager) orphan(ctx context.Context, c *store.Cluster, owner types.UID) error {
	for _, resource := range c.Resources() {
		for _, r := range c.All(resource, "") {
			if !ownedBy(r, owner) {
				continue
			}
			client, name, err := m.clientFor(c, resource, r.Key())
			if err != nil {
				return err
			}
			live, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			kept := slices.DeleteFunc(slices.Clone(live.OwnerReferences), func(o metav1.OwnerReference) bool { return o.UID == owner })
			if err := patch(ctx, client, live, map[string]any{"ownerReferences": kept}); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteDependents deletes all dependents, and reports whether one remains that its owner has to wait for.
func (m *Manager) deleteDependents(ctx context.Context, c *store.Cluster, owner types.UID) (bool, error) {
	for _, resource := range c.Resources() {
		for _, r := range c.All(resource, "") {
			if !ownedBy(r, owner) || r.Deleting() {
				continue
			}
			if err := m.delete(ctx, c, resource, r, metav1.DeletePropagationForeground); err != nil && !apierrors.IsNotFound(err) {
				return false, err
			}
		}
	}
	for _, resource := range c.Resources() {
		for _, r := range c.All(resource, "") {
			if slices.ContainsFunc(r.Owners(), func(o metav1.OwnerReference) bool {
				return o.UID == owner && o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion
			}) {
				return true, nil
			}
		}
	}
	return false, nil
}

// deleteAll deletes all objects of a resource with a prefix.
func (m *Manager) deleteAll(ctx context.Context, c *store.Cluster, resource schema.GroupResource, prefix string) error {
	for _, r := range c.All(resource, prefix) {
		if r.Deleting() {
			continue
		}
		if err := m.delete(ctx, c, resource, r, metav1.DeletePropagationBackground); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (m *Manager) delete(ctx context.Context, c *store.Cluster, resource schema.GroupResource, r *store.Record, how metav1.DeletionPropagation) error {
	client, name, err := m.clientFor(c, resource, r.Key())
	if err != nil {
		return err
	}
	uid, now := r.UID(), int64(0)
	return client.Delete(ctx, name, metav1.DeleteOptions{
		PropagationPolicy: &how, Preconditions: &metav1.Preconditions{UID: &uid}, GracePeriodSeconds: &now,
	})
}

// emptyNamespace deletes what is in a namespace, and releases it when nothing remains.
func (m *Manager) emptyNamespace(ctx context.Context, t task) error {
	r := t.cluster.Get(t.resource, t.key)
	if r == nil || !r.Deleting() {
		return nil
	}
	remaining := false
	var failures []error
	for _, resource := range t.cluster.Resources() {
		failures = append(failures, m.deleteAll(ctx, t.cluster, resource, t.key+"/"))
		remaining = remaining || len(t.cluster.All(resource, t.key+"/")) > 0
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if remaining {
		// The last one that goes leads here again.
		return nil
	}
	namespace, err := m.core.CoreV1().Namespaces().Get(ctx, t.key, metav1.GetOptions{})
	if err != nil || len(namespace.Spec.Finalizers) == 0 {
		return err
	}
	namespace.Spec.Finalizers = nil
	_, err = m.core.CoreV1().Namespaces().Finalize(ctx, namespace, metav1.UpdateOptions{})
	return err
}

// clientFor returns how an object is addressed.
func (m *Manager) clientFor(c *store.Cluster, resource schema.GroupResource, key string) (metadata.ResourceInterface, string, error) {
	gvr, err := m.server.Resource(c, resource)
	if err != nil {
		return nil, "", err
	}
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		return m.metadata.Resource(gvr), key, nil
	}
	return m.metadata.Resource(gvr).Namespace(namespace), name, nil
}
