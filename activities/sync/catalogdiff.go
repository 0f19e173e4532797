package sync

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// catalogDiff says what is to be done to make a remote catalog as wanted.
type catalogDiff struct {
	apply []catalogChange
	// remove are objects of ours that this Kyma may no longer see.
	remove []*metav1.PartialObjectMetadata
	// blocked are names that are taken by objects of others.
	blocked []string
}

// first is the first of the objects that differ, as far as it is there.
func (d catalogDiff) first(there catalogLists) client.Object {
	for _, change := range d.apply {
		for i, found := range there[change.object.kind] {
			if found.Name == change.object.name {
				return &there[change.object.kind][i]
			}
		}
	}
	if len(d.remove) > 0 {
		return d.remove[0]
	}
	return nil
}

// digest tells which objects differ, and from what.
func (d catalogDiff) digest() string {
	var all []any
	for _, change := range d.apply {
		all = append(all, change.object.kind, change.object.name, change.object.digest)
	}
	for _, object := range d.remove {
		all = append(all, object.Kind, object.Name)
	}
	return desired.DigestOf(all...)
}

type catalogChange struct {
	object catalogObject
	// generation is the one that the object will have when its spec changes by being applied.
	generation int64
}

func (d catalogDiff) empty() bool { return len(d.apply) == 0 && len(d.remove) == 0 }

// diffCatalog compares by metadata alone: the digest that an object carries, the generation that its spec
// had when we wrote it, its labels and annotations. What others made is neither changed nor removed.
func diffCatalog(wanted []catalogObject, there catalogLists, whose owner) catalogDiff {
	var diff catalogDiff
	named := map[[2]string]*metav1.PartialObjectMetadata{}
	for kind, list := range there {
		for i := range list {
			named[[2]string{kind, list[i].Name}] = &list[i]
		}
	}
	listed := map[[2]string]bool{}
	for _, object := range wanted {
		key := [2]string{object.kind, object.name}
		listed[key] = true
		found := named[key]
		switch {
		case found == nil:
			diff.apply = append(diff.apply, catalogChange{object, 1})
		case !found.DeletionTimestamp.IsZero():
			// It is made anew once it is gone.
		case !whose.owns(found):
			if !whose.another(found) {
				diff.blocked = append(diff.blocked, object.kind+" "+object.name)
			}
		case !asWanted(object, found):
			diff.apply = append(diff.apply, catalogChange{object, found.Generation + 1})
		}
	}
	for _, kind := range catalogKinds() {
		for i := range there[kind] {
			found := &there[kind][i]
			if !listed[[2]string{kind, found.Name}] && found.DeletionTimestamp.IsZero() && appliedByUs(found) && whose.owns(found) {
				diff.remove = append(diff.remove, found)
			}
		}
	}
	return diff
}

func asWanted(object catalogObject, found *metav1.PartialObjectMetadata) bool {
	return unchanged(found) && appliedByUs(found) && hasLabels(found.Labels, object.labels()) &&
		hasLabels(found.Annotations, object.annotations())
}

// owner tells whose the objects of a remote catalog are.
type owner struct {
	// mark is that of the Kyma.
	mark string
	// own is true in the control plane's own cluster, where only the mark tells a copy from an original.
	own bool
	// left are the marks of Kymas that are gone: what was brought for them is the next one's.
	left map[string]bool
}

// owns tells whether an object was brought for this Kyma, or for one that is gone. Before there were marks,
// the field manager alone said so.
func (o owner) owns(found *metav1.PartialObjectMetadata) bool {
	value, marked := found.Annotations[desired.AnnotationSyncedFrom]
	if marked {
		return value == o.mark || o.left[value] && appliedByUs(found)
	}
	return !o.own && appliedByUs(found)
}

// another tells whether an object was brought for another Kyma that shares the namespace: it serves both.
func (o owner) another(found *metav1.PartialObjectMetadata) bool {
	value, marked := found.Annotations[desired.AnnotationSyncedFrom]
	return marked && value != o.mark
}

// maxForeignMarks is how many other Kymas are looked for at one look; there are rarely any, and marks can be
// forged.
const maxForeignMarks = 8

// leftBehind finds out which of the other Kymas that a remote catalog has objects of are gone, or have nothing to do with
// this cluster, whose owner can write any mark.
func (a *Activities) leftBehind(ctx context.Context, there catalogLists, mark string, cluster types.UID) (map[string]bool, error) {
	seen := map[string]bool{}
	left := map[string]bool{}
	for _, kind := range catalogKinds() {
		for i := range there[kind] {
			found := &there[kind][i]
			value := found.Annotations[desired.AnnotationSyncedFrom]
			other, ok := keyOf(value)
			if !ok || value == mark || seen[value] || len(seen) == maxForeignMarks || !appliedByUs(found) {
				continue
			}
			seen[value] = true
			brought := &v1beta2.Kyma{}
			err := a.controlPlane.Get(ctx, other, brought)
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fault.New(fault.Transient, ReasonCatalog, "read the Kyma for which %s %s was brought by its mark: %w",
					kind, nameOf(found), err)
			}
			recorded := brought.Status.Remote
			left[value] = err != nil || recorded == nil || recorded.Cluster != string(cluster)
		}
	}
	return left, nil
}

// appliedByUs tells whether the catalog's field manager has applied an object: only such are ours to delete
// (docs/contract.md#the-catalog).
func appliedByUs(found *metav1.PartialObjectMetadata) bool {
	for _, entry := range found.ManagedFields {
		if entry.Manager == shared.FieldManagerCatalog && entry.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

// catalogLists are the objects of a remote catalog by kind, without bodies. A kind that the cluster does not
// serve is missing.
type catalogLists map[string][]metav1.PartialObjectMetadata

// readCatalog lists the remote catalog without bodies: one request per kind.
func readCatalog(ctx context.Context, r client.Reader, namespace string) (catalogLists, error) {
	there := catalogLists{}
	for _, kind := range catalogKinds() {
		list, err := listMetadata(ctx, r, ourKind(kind), client.InNamespace(namespace))
		switch {
		case kindMissing(err):
		case err != nil:
			return nil, fmt.Errorf("read the remote catalog: %w", err)
		default:
			there[kind] = list
		}
	}
	return there, nil
}

// catalogReading is what a remote catalog holds, or why it could not be read.
type catalogReading struct {
	there catalogLists
	err   error
}

// readCatalogEarly reads the remote catalog while something else is done. The result must be received.
func readCatalogEarly(ctx context.Context, r client.Reader, namespace string) <-chan catalogReading {
	read := make(chan catalogReading, 1)
	go func() {
		there, err := readCatalog(ctx, r, namespace)
		read <- catalogReading{there, err}
	}()
	return read
}

// catalogPatience is how long one look writes into a remote catalog. What is left is the next look's: nobody's modules
// wait until a catalog of thousands is copied.
const catalogPatience = 30 * time.Second

// ensureCatalog makes the remote catalog, as it was read, as wanted: empty of ours where it is switched off. One
// object that cannot be written does not keep the others from it.
func (a *Activities) ensureCatalog(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote, read catalogReading) error {
	if read.err != nil {
		return read.err
	}
	wanted, err := a.wantedCatalog(ctx, kyma, s, r.own)
	if err != nil {
		return err
	}
	whose := owner{mark: desired.SyncedFrom(kyma), own: r.own}
	if whose.left, err = a.leftBehind(ctx, read.there, whose.mark, r.uid); err != nil {
		return err
	}
	diff := diffCatalog(wanted, read.there, whose)
	var failed, refused []error
	var rest error
	until, done := a.now().Add(catalogPatience), 0
	goesOn := func() bool {
		if a.now().After(until) {
			rest = fault.New(fault.Pending, ReasonCatalogGoesOn, "the module catalog is being copied: %d of %d objects that differ are as they should be",
				done, len(diff.apply)+len(diff.remove))
			return false
		}
		done++
		return true
	}
	for _, change := range diff.apply {
		if !goesOn() {
			break
		}
		switch err := r.applyCatalog(ctx, change); {
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
		if !goesOn() {
			break
		}
		failed = append(failed, r.deleteObject(ctx, object))
	}
	if len(diff.blocked) > 0 {
		refused = append(refused, fault.New(fault.Rejected, ReasonCatalog,
			"the remote cluster has objects of its own with names of the catalog: %v", diff.blocked))
	}
	// The first error decides how they count together: trying again helps as long as it helps with one.
	return errors.Join(append(append(failed, rest), refused...)...)
}

// applyCatalog applies one object of the catalog. The definition may just have been brought.
func (r *remote) applyCatalog(ctx context.Context, change catalogChange) error {
	what := fmt.Sprintf("%s %s/%s", change.object.kind, change.object.namespace, change.object.name)
	_, writes, err := applyNoted(ctx, r, shared.FieldManagerCatalog, change.object.body, change.generation)
	r.writes += writes
	if apierrors.IsInvalid(err) {
		return fault.New(fault.Rejected, ReasonCatalog, "apply %s: %w", what, err)
	}
	if err != nil {
		return fmt.Errorf("apply %s: %w", what, err)
	}
	return nil
}

// deleteObject deletes this very object.
func (r *remote) deleteObject(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	uid := object.UID
	err := r.Delete(ctx, object, client.Preconditions{UID: &uid})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", object.Kind, nameOf(object), err)
	}
	r.writes++
	return nil
}
