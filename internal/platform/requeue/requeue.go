// Package requeue counts the writes after which upstream's reconcilers requeue an object, under upstream's names. One
// activity may do several of these writes, so they cannot be counted from its result:
//
//	ctx = requeue.Counting(ctx, func(r requeue.Reason) { … }) // once per activity
//	requeue.Wrote(ctx, requeue.ManifestAddFinalizer)          // after each write
package requeue

import "context"

// Reason is the value of the label requeue_reason.
type Reason string

const (
	// KymaLabelsAndFinalizers is a write of our finalizer and label into a Kyma.
	KymaLabelsAndFinalizers Reason = "labels_and_finalizers_update"
	// KymaInitialState is a write of a Kyma's first state.
	KymaInitialState Reason = "initial_state_handling"
	// KymaDeleting is a write of the state Deleting into a Kyma.
	KymaDeleting Reason = "kyma_status_update_to_deleting"
	// ManifestAddFinalizer is a write of our finalizers into a Manifest. A new Manifest of ours has them from the
	// start.
	ManifestAddFinalizer Reason = "manifest_add_finalizer"
	// ManifestFirstRef is the first record of a Manifest's applied layers.
	ManifestFirstRef Reason = "manifest_init_synced_oci_ref"
	// ManifestOtherRef is a record of other layers than before.
	ManifestOtherRef Reason = "manifest_update_synced_oci_ref"
)

type counterKey struct{}

// Counting returns a context in which Wrote calls count.
func Counting(ctx context.Context, count func(Reason)) context.Context {
	return context.WithValue(ctx, counterKey{}, count)
}

// Wrote counts a successful write. It does nothing if the context does not come from Counting.
func Wrote(ctx context.Context, r Reason) {
	if count, ok := ctx.Value(counterKey{}).(func(Reason)); ok {
		count(r)
	}
}

// RecordedRef counts the record of a Manifest's layers if they changed.
func RecordedRef(ctx context.Context, before, after string) {
	switch {
	case after == before:
	case before == "":
		Wrote(ctx, ManifestFirstRef)
	default:
		Wrote(ctx, ManifestOtherRef)
	}
}
