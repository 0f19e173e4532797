// Package catalog maintains the module catalog in remote clusters. Catalogs.Wanted returns the templates and release
// metas that a Kyma may see. Diff compares them with the remote cluster by metadata alone. Catalogs.Ensure and Delete
// write the difference.
//
// Objects of other owners are neither changed nor deleted: an object is ours only if the catalog's field manager
// applied it and its mark (Owner) names this Kyma, or a Kyma that is gone.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Catalogs maintains the module catalogs of remote clusters.
type Catalogs struct {
	settings     desired.Settings
	controlPlane client.Reader
	catalog      client.Reader
	digests      *digests
	now          func() time.Time
}

// Wanted returns the desired remote catalog of a Kyma, from the cache. It is empty if the catalog is off.
func (c *Catalogs) Wanted(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, own bool) ([]Object, error) {
	if !s.Catalog {
		return nil, nil
	}
	var templates v1beta2.ModuleTemplateList
	if err := c.catalog.List(ctx, &templates, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ModuleTemplates: %w", err)
	}
	var metas v1beta2.ModuleReleaseMetaList
	if err := c.catalog.List(ctx, &metas, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ModuleReleaseMetas: %w", err)
	}
	all := allowed(kyma, c.settings, s.Namespace, own, templates.Items, metas.Items)
	wanted := make([]Object, 0, len(all))
	for _, source := range all {
		digest, err := c.digests.of(source)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, Object{
			source: source, kind: desired.KindOf(source), name: source.GetName(), namespace: s.Namespace,
			digest: digest, mark: desired.SyncedFrom(kyma),
		})
	}
	return wanted, nil
}

// maxForeignMarks is the greatest number of other Kymas to check in one synchronization. There are rarely any, and
// marks can be forged.
const maxForeignMarks = 8

// goneOwners returns the other Kymas in the marks of a remote catalog that no longer exist, or that do not use this
// cluster. The owner of the cluster can write any mark.
func (c *Catalogs) goneOwners(ctx context.Context, there Lists, mark string, cluster types.UID) (map[string]bool, error) {
	seen := map[string]bool{}
	left := map[string]bool{}
	for _, kind := range kinds() {
		for i := range there[kind] {
			found := &there[kind][i]
			value := found.Annotations[desired.AnnotationSyncedFrom]
			other, ok := remote.KymaOfMark(value)
			if !ok || value == mark || seen[value] || len(seen) == maxForeignMarks || !IsApplied(found) {
				continue
			}
			seen[value] = true
			brought := &v1beta2.Kyma{}
			err := c.controlPlane.Get(ctx, other, brought)
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fault.New(fault.Transient, ReasonNotSynced, "read the Kyma in the mark of %s %s: %w",
					kind, desired.NameOf(found), err)
			}
			recorded := brought.Status.Remote
			left[value] = err != nil || recorded == nil || recorded.Cluster != string(cluster)
		}
	}
	return left, nil
}

// patience is how long one synchronization writes into a remote catalog. The next synchronization continues, so that
// modules do not wait for a copy of thousands of objects.
const patience = 30 * time.Second

// Ensure writes the difference between the remote catalog, as read, and the desired one. If the catalog is off, it
// removes our objects. If it cannot write one object, it continues with the others.
func (c *Catalogs) Ensure(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote.Cluster, read Reading) error {
	if read.Err != nil {
		return read.Err
	}
	wanted, err := c.Wanted(ctx, kyma, s, r.Own)
	if err != nil {
		return err
	}
	whose := Owner{Mark: desired.SyncedFrom(kyma), Own: r.Own}
	if whose.gone, err = c.goneOwners(ctx, read.Lists, whose.Mark, r.UID); err != nil {
		return err
	}
	diff := Diff(wanted, read.Lists, whose)
	var failed, refused []error
	var rest error
	until, done := c.now().Add(patience), 0
	inTime := func() bool {
		if c.now().After(until) {
			rest = fault.New(fault.Pending, ReasonContinues, "the module catalog is being copied: %d of %d changed objects are done",
				done, len(diff.apply)+len(diff.remove))
			return false
		}
		done++
		return true
	}
	for _, change := range diff.apply {
		if !inTime() {
			break
		}
		switch err := applyObject(ctx, r, change); {
		case err != nil && fault.Of(err).Kind == fault.Rejected:
			refused = append(refused, err)
		case err != nil:
			failed = append(failed, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, object := range diff.remove {
		if !inTime() {
			break
		}
		failed = append(failed, r.DeleteObject(ctx, object))
	}
	if len(diff.blocked) > 0 {
		refused = append(refused, fault.New(fault.Rejected, ReasonNotSynced,
			"the remote cluster has objects of its own with names of the catalog, rename or delete them: %v", diff.blocked))
	}
	// The first error decides the kind of the joined error, and one retryable error makes a retry useful.
	return errors.Join(append(append(failed, rest), refused...)...)
}

// applyObject applies one object of the catalog. The definition of its kind may be fresh.
func applyObject(ctx context.Context, r *remote.Cluster, change change) error {
	what := fmt.Sprintf("%s %s/%s", change.object.kind, change.object.namespace, change.object.name)
	_, writes, err := remote.Apply(ctx, r, shared.FieldManagerCatalog, change.object.body, change.generation)
	r.Writes += writes
	if apierrors.IsInvalid(err) {
		return fault.New(fault.Rejected, ReasonNotSynced, "apply %s: %w", what, err)
	}
	if err != nil {
		return fmt.Errorf("apply %s: %w", what, err)
	}
	return nil
}

// Delete deletes the objects of one Kyma, but not those that another Kyma shares.
func Delete(ctx context.Context, r *remote.Cluster, there Lists, mine Owner) error {
	var failed []error
	for _, object := range Diff(nil, there, mine).remove {
		failed = append(failed, r.DeleteObject(ctx, object))
	}
	return errors.Join(failed...)
}

// ReasonNotSynced: objects of the catalog could not be written.
const ReasonNotSynced = "CatalogNotSynced"

// ReasonContinues: the catalog is so large that several synchronizations write it (kind Pending).
const ReasonContinues = "CatalogContinues"

// New returns Catalogs.
func New(settings desired.Settings, controlPlane, cache client.Reader, clock func() time.Time) *Catalogs {
	return &Catalogs{settings: settings, controlPlane: controlPlane, catalog: cache, digests: newDigests(), now: clock}
}
