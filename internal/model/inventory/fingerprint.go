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

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// annotationHook marks the hooks of a chart. They run once and may be gone afterwards, which is not drift.
const annotationHook = "helm.sh/hook"

// ObjectHash returns a hash of what we own of an object. It covers our Apply entry in the managed fields (API version
// and fields, without the time) and the annotation with the digest of the rendered object. The hash changes if someone
// changes or removes a field of ours, or if the object is not the rendering that we applied last. It stays if others
// add fields or write the status, and applying again restores the same hash
// (docs/design/install-and-drift.md#ownership-hash; shown on a real API server by TestTheHash…). It is empty if we own
// nothing.
//
// The managed fields of the object must have the bytes that the server sent.
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

// OwnEntry returns the managed fields entry of our apply; nil if we own nothing of the object.
func OwnEntry(managed []metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	for i := range managed {
		if e := &managed[i]; e.Manager == shared.FieldManagerModuleResources && e.Operation == metav1.ManagedFieldsOperationApply &&
			e.Subresource == "" && e.FieldsV1 != nil {
			return e
		}
	}
	return nil
}

// FingerprintEntry is the part of an inventory entry that goes into a fingerprint: id, uid and the hash of what we own.
type FingerprintEntry struct{ ID, UID, Hash string }

// Fingerprint returns a digest over the objects of an inventory, or of a part of it. It leaves out objects that run
// once, because they may be deleted at any time, and objects of which we own nothing: namespaces that existed before
// the module.
func Fingerprint(inventory []v1beta2.InventoryEntry) string {
	entries := make([]FingerprintEntry, 0, len(inventory))
	for _, e := range inventory {
		if e.Hash != "" && !RunsOnce(e) {
			entries = append(entries, FingerprintEntry{ID: e.ID, UID: e.UID, Hash: e.Hash})
		}
	}
	return FingerprintOf(entries)
}

// FingerprintOf returns the digest over entries in any order; empty if there are none. It sorts the entries.
func FingerprintOf(entries []FingerprintEntry) string {
	if len(entries) == 0 {
		return ""
	}
	slices.SortFunc(entries, func(a, b FingerprintEntry) int { return strings.Compare(a.ID, b.ID) })
	digest := sha256.New()
	for _, e := range entries {
		// No id, uid or hash contains a line break.
		_, _ = io.WriteString(digest, e.ID+"\n"+e.UID+"\n"+e.Hash+"\n")
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

// RunsOnce reports whether an object runs once for a version: a Job or a hook.
func RunsOnce(e v1beta2.InventoryEntry) bool {
	gvk, _, err := e.Object()
	return e.Ran != "" || err == nil && kinds.IsJob(gvk.GroupKind())
}

// InFingerprint reports whether a live object with our ownership annotation is part of an inventory's fingerprint. An
// object with a controller is part of it only if we applied the object. Otherwise it only has copies of our
// annotations, as a ReplicaSet has the annotations of its Deployment.
func InFingerprint(kind schema.GroupKind, live metav1.Object) bool {
	if _, hook := live.GetAnnotations()[annotationHook]; hook || kinds.IsJob(kind) {
		return false
	}
	return metav1.GetControllerOf(live) == nil || OwnEntry(live.GetManagedFields()) != nil
}
