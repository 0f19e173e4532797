package sync

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

type catalogChange struct {
	object catalogObject
	// generation is the one that the object will have when its spec changes by being applied.
	generation int64
}

func (d catalogDiff) empty() bool { return len(d.apply) == 0 && len(d.remove) == 0 }

// diffCatalog compares by metadata alone: the digest that an object carries, the generation that its spec
// had when we wrote it, its labels and annotations. What others made is neither changed nor removed.
func diffCatalog(wanted []catalogObject, there map[string][]metav1.PartialObjectMetadata, mark string, own bool) catalogDiff {
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
		case !mine(found, mark, own):
			if !otherKyma(found, mark) {
				diff.blocked = append(diff.blocked, object.kind+" "+object.name)
			}
		case !asWanted(object, found):
			diff.apply = append(diff.apply, catalogChange{object, found.Generation + 1})
		}
	}
	for _, kind := range catalogKinds() {
		for i := range there[kind] {
			found := &there[kind][i]
			if !listed[[2]string{kind, found.Name}] && found.DeletionTimestamp.IsZero() && appliedByUs(found) && mine(found, mark, own) {
				diff.remove = append(diff.remove, found)
			}
		}
	}
	return diff
}

func asWanted(object catalogObject, found *metav1.PartialObjectMetadata) bool {
	return unchanged(found) && hasLabels(found.Labels, object.labels()) && hasLabels(found.Annotations, object.annotations())
}

// mine tells whether an object was brought for this Kyma. Before there were marks, the field manager alone
// said so; in the control plane's own cluster only the mark tells a copy from an original.
func mine(found *metav1.PartialObjectMetadata, mark string, own bool) bool {
	value, marked := found.Annotations[desired.AnnotationSyncedFrom]
	if marked {
		return value == mark
	}
	return !own && appliedByUs(found)
}

// otherKyma tells whether an object was brought for another Kyma that shares the namespace: it serves both.
func otherKyma(found *metav1.PartialObjectMetadata, mark string) bool {
	value, marked := found.Annotations[desired.AnnotationSyncedFrom]
	return marked && value != mark
}

// appliedByUs tells whether the catalog's field manager has applied an object: only such are ours to delete
// (contract, section 5).
func appliedByUs(found *metav1.PartialObjectMetadata) bool {
	for _, entry := range found.ManagedFields {
		if entry.Manager == shared.FieldManagerCatalog && entry.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

// readCatalog lists the remote catalog without bodies.
func readCatalog(ctx context.Context, r client.Reader, namespace string) (map[string][]metav1.PartialObjectMetadata, error) {
	there := map[string][]metav1.PartialObjectMetadata{}
	for _, kind := range catalogKinds() {
		list, err := listMetadata(ctx, r, ourKind(kind), client.InNamespace(namespace))
		if err != nil && !kindMissing(err) {
			return nil, fmt.Errorf("read the remote catalog: %w", err)
		}
		there[kind] = list
	}
	return there, nil
}

// catalogReading is what a remote catalog holds, or why it could not be read.
type catalogReading struct {
	there map[string][]metav1.PartialObjectMetadata
	err   error
}

// readCatalogEarly reads the remote catalog while something else is done. The result must be received.
func readCatalogEarly(ctx context.Context, r client.Reader, namespace string) <-chan *catalogReading {
	read := make(chan *catalogReading, 1)
	go func() {
		there, err := readCatalog(ctx, r, namespace)
		read <- &catalogReading{there, err}
	}()
	return read
}

// receive waits for an early reading; without one it is nil.
func receive(read <-chan *catalogReading) *catalogReading {
	if read == nil {
		return nil
	}
	return <-read
}

// ensureCatalog makes the remote catalog as wanted, as it was read early or is read now. One object that
// cannot be written does not keep the others from it.
func (a *Activities) ensureCatalog(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote, early *catalogReading) error {
	wanted, err := a.wantedCatalog(ctx, kyma, s, r.own)
	if err != nil {
		return err
	}
	var there map[string][]metav1.PartialObjectMetadata
	if early != nil {
		there, err = early.there, early.err
	} else {
		there, err = readCatalog(ctx, r, s.Namespace)
	}
	if err != nil {
		return err
	}
	diff := diffCatalog(wanted, there, desired.SyncedFrom(kyma), r.own)
	var failed, refused []error
	for _, change := range diff.apply {
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
		failed = append(failed, r.deleteObject(ctx, object))
	}
	if len(diff.blocked) > 0 {
		refused = append(refused, fault.New(fault.Rejected, ReasonCatalog,
			"the remote cluster has objects of its own with names of the catalog: %v", diff.blocked))
	}
	// The first error decides how they count together: trying again helps as long as it helps with one.
	return errors.Join(append(failed, refused...)...)
}

func (r *remote) applyCatalog(ctx context.Context, change catalogChange) error {
	body, err := change.object.body(change.generation)
	if err != nil {
		return err
	}
	err = untilServed(ctx, func() error {
		return r.Apply(ctx, client.ApplyConfigurationFromUnstructured(body),
			client.FieldOwner(shared.FieldManagerCatalog), client.ForceOwnership)
	})
	if apierrors.IsInvalid(err) {
		return fault.New(fault.Rejected, ReasonCatalog, "apply %s %s: %w", change.object.kind, change.object.name, err)
	}
	if err != nil {
		return fmt.Errorf("apply %s %s/%s: %w", change.object.kind, change.object.namespace, change.object.name, err)
	}
	r.writes++
	if unchanged(body) {
		return nil
	}
	// Its spec was as wanted already, so its generation stayed. It is applied once more, for a patch by the
	// same manager would make it a second owner of the annotation.
	again, err := change.object.body(body.GetGeneration())
	if err != nil {
		return err
	}
	if err := r.Apply(ctx, client.ApplyConfigurationFromUnstructured(again),
		client.FieldOwner(shared.FieldManagerCatalog), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s/%s: %w", change.object.kind, change.object.namespace, change.object.name, err)
	}
	r.writes++
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
