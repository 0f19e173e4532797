package inventory

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// annotationHook marks an object of a chart that is run and not kept; absence afterwards is no drift.
const annotationHook = "helm.sh/hook"

// ObjectHash is a hash over what the server says that we own of an object (API version and fields of our Apply
// entry, without its time) and over the digest of the object as rendered that it carries. It changes when
// somebody changes or removes a field of ours, or when the object is another rendering than the one that was
// applied last; it stays when others add fields or write the status, and applying again restores the very same
// (docs/design/install-and-drift.md#ownership-hash; shown on a real API server by TestTheHash…). Empty when we own nothing.
//
// Only an object whose managed fields have the bytes that the server sent may be given.
func ObjectHash(live metav1.Object) string {
	e := OwnEntry(live.GetManagedFields())
	if e == nil {
		return ""
	}
	hash := fnv.New64a()
	// A hash.Hash never returns an error from Write.
	_, _ = io.WriteString(hash, e.APIVersion+"\n"+live.GetAnnotations()[shared.AnnotationAppliedDigest]+"\n")
	var fields [8]byte
	binary.BigEndian.PutUint64(fields[:], sumOfFields(e))
	_, _ = hash.Write(fields[:])
	return hex.EncodeToString(hash.Sum(nil))
}

// OwnEntry is what we own of an object by having applied it; nil when that is nothing.
func OwnEntry(managed []metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	for i := range managed {
		if e := &managed[i]; e.Manager == shared.FieldManagerModuleResources && e.Operation == metav1.ManagedFieldsOperationApply &&
			e.Subresource == "" && e.FieldsV1 != nil {
			return e
		}
	}
	return nil
}

// FingerprintEntry is what a fingerprint is made of: an object, which one of this name it is, and what is ours of it.
type FingerprintEntry struct{ ID, UID, Hash string }

// fingerprint is a digest over the objects of an inventory. Those that are run once are not in it, for they may
// be cleaned up at any time, nor those of which we own nothing: namespaces that were there before us.
func fingerprint(inventory []v1beta2.InventoryEntry) string {
	marks := make([]FingerprintEntry, 0, len(inventory))
	for _, e := range inventory {
		if e.Hash != "" && !RunsOnce(e) {
			marks = append(marks, FingerprintEntry{ID: e.ID, UID: e.UID, Hash: e.Hash})
		}
	}
	return FingerprintOf(marks)
}

// FingerprintOf is the digest over these objects, whatever their order; empty for none.
func FingerprintOf(marks []FingerprintEntry) string {
	if len(marks) == 0 {
		return ""
	}
	slices.SortFunc(marks, func(a, b FingerprintEntry) int { return strings.Compare(a.ID, b.ID) })
	digest := sha256.New()
	for _, m := range marks {
		// No id, uid or hash has a line break.
		_, _ = io.WriteString(digest, m.ID+"\n"+m.UID+"\n"+m.Hash+"\n")
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

// RunsOnce tells whether an object is there to run, once for a version.
func RunsOnce(e v1beta2.InventoryEntry) bool {
	gvk, _, err := e.Object()
	return e.Ran != "" || err == nil && kinds.IsJob(gvk.GroupKind())
}

// InFingerprint tells whether a live object with our mark is one of those that an inventory's fingerprint is made of.
// What another object controls is a copy, as a ReplicaSet has the annotations of its Deployment, unless we
// applied it ourselves.
func InFingerprint(kind schema.GroupKind, live metav1.Object) bool {
	if _, hook := live.GetAnnotations()[annotationHook]; hook || kinds.IsJob(kind) {
		return false
	}
	return metav1.GetControllerOf(live) == nil || OwnEntry(live.GetManagedFields()) != nil
}
