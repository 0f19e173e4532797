// Package requeue counts, in the words of upstream's reconcilers, the writes after which these take an object up again. An
// activity does several of them at once, so its result does not tell which there were:
//
//	ctx = requeue.Counting(ctx, func(r requeue.Reason) { … }) // once, around an activity
//	requeue.Wrote(ctx, requeue.ManifestAddFinalizer)          // where it is written
package requeue

import "context"

// Reason is the value of the label requeue_reason.
type Reason string

const (
	// KymaLabelsAndFinalizers is the write of our finalizer and label into a Kyma.
	KymaLabelsAndFinalizers Reason = "labels_and_finalizers_update"
	// KymaInitialState is the write of a Kyma's first state.
	KymaInitialState Reason = "initial_state_handling"
	// KymaDeleting is the write that makes a Kyma's state Deleting.
	KymaDeleting Reason = "kyma_status_update_to_deleting"
	// ManifestAddFinalizer is the write of our finalizers into a Manifest, which a new one has from the start.
	ManifestAddFinalizer Reason = "manifest_add_finalizer"
	// ManifestFirstRef is the record of the first layers that were applied for a Manifest.
	ManifestFirstRef Reason = "manifest_init_synced_oci_ref"
	// ManifestOtherRef is the record that other layers were applied for a Manifest.
	ManifestOtherRef Reason = "manifest_update_synced_oci_ref"
)

type counterKey struct{}

// Counting returns a context in which what is written is counted.
func Counting(ctx context.Context, count func(Reason)) context.Context {
	return context.WithValue(ctx, counterKey{}, count)
}

// Wrote counts a write that succeeded. Outside of an activity that is measured, it does nothing.
func Wrote(ctx context.Context, r Reason) {
	if count, ok := ctx.Value(counterKey{}).(func(Reason)); ok {
		count(r)
	}
}

// RecordedRef counts the record of the layers of a Manifest, if they are not those that were recorded before.
func RecordedRef(ctx context.Context, before, after string) {
	switch {
	case after == before:
	case before == "":
		Wrote(ctx, ManifestFirstRef)
	default:
		Wrote(ctx, ManifestOtherRef)
	}
}
