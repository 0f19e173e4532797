// Package definitions maintains our CustomResourceDefinitions in remote clusters. Set.Ensure creates and updates them,
// but never downgrades or narrows them. Set.Remove deletes the definitions that we created after the last object of
// ours is gone.
package definitions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/Masterminds/semver/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Annotations on our CustomResourceDefinitions in remote clusters.
const (
	// AnnotationDigest is the digest of the definition that we wrote.
	AnnotationDigest = shared.OperatorGroup + "/definition-digest"
	// AnnotationVersion is the version of the build that wrote the definition. Older builds do not change it.
	AnnotationVersion = shared.OperatorGroup + "/definition-version"
	// AnnotationCreated marks a definition that we created, and may delete.
	AnnotationCreated = shared.OperatorGroup + "/definition-created"
)

// definition is a CustomResourceDefinition for remote clusters.
type definition struct {
	crd     *apiextensionsv1.CustomResourceDefinition
	digest  string
	version string
}

// Set holds the definitions for remote clusters.
type Set struct{ all []definition }

// New prepares the definitions for remote clusters. version is the version of this program.
func New(crds []*apiextensionsv1.CustomResourceDefinition, version string) (*Set, error) {
	prepared := make([]definition, 0, len(crds))
	for _, crd := range crds {
		crd = crd.DeepCopy()
		encoded, err := json.Marshal(crd.Spec)
		if err != nil {
			return nil, fmt.Errorf("encode CustomResourceDefinition %s: %w", crd.Name, err)
		}
		sum := sha256.Sum256(encoded)
		d := definition{crd: crd, digest: hex.EncodeToString(sum[:16]), version: version}
		crd.Labels = remote.Merged(crd.Labels, map[string]string{shared.LabelManagedBy: shared.ManagedByKyma})
		crd.Annotations = remote.Merged(crd.Annotations, d.marks())
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		prepared = append(prepared, d)
	}
	return &Set{prepared}, nil
}

func (d definition) marks() map[string]string {
	return map[string]string{AnnotationDigest: d.digest, AnnotationVersion: d.version}
}

// current reports whether the metadata of a definition in a cluster shows that no write is necessary: it is ours and
// unchanged, or a newer build wrote it.
func (d definition) current(object metav1.Object) bool {
	annotations := object.GetAnnotations()
	if newer(annotations[AnnotationVersion], d.version) {
		return true
	}
	return annotations[AnnotationDigest] == d.digest && remote.IsUnchanged(object) &&
		object.GetLabels()[shared.LabelManagedBy] == shared.ManagedByKyma
}

// newer reports whether theirs is newer than ours. A version that cannot be parsed is the oldest.
func newer(theirs, ours string) bool {
	a, err := semver.NewVersion(theirs)
	if err != nil {
		return false
	}
	b, err := semver.NewVersion(ours)
	return err != nil || a.GreaterThan(b)
}

// Ensure creates missing definitions, and updates definitions of older builds or other owners. It never downgrades or
// narrows a definition. It returns whether it created definitions, because it takes a moment until the cluster serves
// them.
func (s *Set) Ensure(ctx context.Context, r *remote.Cluster) (created Created, err error) {
	if r.Own {
		return CreatedNone, nil // the definitions are the control plane's own, and must not be changed from here
	}
	there, err := remote.ListMetadata(ctx, r, kind(), client.MatchingLabels{shared.LabelManagedBy: shared.ManagedByKyma})
	if err != nil {
		return CreatedNone, err
	}
	total := 0
	for _, d := range s.all {
		at := slices.IndexFunc(there, func(o metav1.PartialObjectMetadata) bool { return o.Name == d.crd.Name })
		if at >= 0 && there[at].DeletionTimestamp.IsZero() && d.current(&there[at]) {
			continue
		}
		made, err := ensureDefinition(ctx, r, d, at < 0)
		if err != nil {
			return created, err
		}
		if made {
			total++
			created = CreatedSome
		}
	}
	if total > 0 && total == len(s.all) {
		created = CreatedAll
	}
	return created, nil
}

// Created says how many of our definitions a synchronization has created. Kinds with a fresh definition have no
// objects, and are not served at once.
type Created int

const (
	CreatedNone Created = iota
	CreatedSome
	CreatedAll
)

func ensureDefinition(ctx context.Context, r *remote.Cluster, d definition, unseen bool) (created bool, err error) {
	if unseen {
		crd := d.crd.DeepCopy()
		crd.Annotations[AnnotationCreated] = shared.ValueTrue
		crd.Annotations[remote.AnnotationGeneration] = "1"
		err := r.Create(ctx, crd, remote.FieldOwner())
		if err == nil {
			r.Writes++
			return true, r.NoteGeneration(ctx, crd, remote.FieldOwner())
		}
		if !apierrors.IsAlreadyExists(err) {
			return false, fmt.Errorf("create CustomResourceDefinition %s: %w", d.crd.Name, err)
		}
	}
	// Retry, because the API server's own controllers write the status of a definition that has just changed.
	return false, retry.RetryOnConflict(retry.DefaultBackoff, func() error { return updateDefinition(ctx, r, d) })
}

func updateDefinition(ctx context.Context, r *remote.Cluster, d definition) error {
	there := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.Get(ctx, client.ObjectKeyFromObject(d.crd), there); err != nil {
		return fmt.Errorf("read CustomResourceDefinition %s: %w", d.crd.Name, err)
	}
	if !there.DeletionTimestamp.IsZero() {
		return fault.New(fault.Transient, ReasonNotSynced, "CustomResourceDefinition %s is being deleted", d.crd.Name)
	}
	if d.current(there) {
		return nil
	}
	widen(there, d)
	there.Annotations[remote.AnnotationGeneration] = strconv.FormatInt(there.Generation+1, 10)
	err := r.Update(ctx, there, remote.FieldOwner())
	if apierrors.IsInvalid(err) {
		return fault.New(fault.Rejected, ReasonNotSynced, "update CustomResourceDefinition %s: %w", d.crd.Name, err)
	}
	if err != nil {
		return fmt.Errorf("update CustomResourceDefinition %s: %w", d.crd.Name, err)
	}
	r.Writes++
	return r.NoteGeneration(ctx, there, remote.FieldOwner())
}

// widen makes a definition in a cluster ours. Additional versions stay served, because objects may be stored in them.
// Labels and annotations are only added.
func widen(there *apiextensionsv1.CustomResourceDefinition, d definition) {
	ours := d.crd.DeepCopy()
	for _, version := range there.Spec.Versions {
		known := slices.ContainsFunc(ours.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version.Name
		})
		if !known {
			version.Storage = false
			ours.Spec.Versions = append(ours.Spec.Versions, version)
		}
	}
	conversion := there.Spec.Conversion
	there.Spec = ours.Spec
	if there.Spec.Conversion == nil {
		there.Spec.Conversion = conversion
	}
	there.Labels = remote.Merged(there.Labels, ours.Labels)
	there.Annotations = remote.Merged(there.Annotations, ours.Annotations)
}

// Remove deletes the definitions that we created, unless the cluster is the control plane itself, or still has an
// object of our kinds, whoever created it.
func (s *Set) Remove(ctx context.Context, r *remote.Cluster) error {
	if r.Own {
		return nil
	}
	brought, err := remote.ListMetadata(ctx, r, kind(), client.MatchingLabels{shared.LabelManagedBy: shared.ManagedByKyma})
	if err != nil {
		return err
	}
	due := lists.Filter(lists.Pointers(brought), func(each *metav1.PartialObjectMetadata) bool {
		return each.Annotations[AnnotationCreated] == shared.ValueTrue && s.has(each.Name)
	})
	if len(due) == 0 {
		return nil
	}
	for _, kind := range []string{shared.KindKyma, shared.KindModuleTemplate, shared.KindModuleReleaseMeta, shared.KindManifest} {
		left, err := remote.ListMetadata(ctx, r, remote.Kind(kind), client.Limit(1))
		if err != nil && !remote.KindMissing(err) {
			return fmt.Errorf("check whether any %s is left: %w", kind, err)
		}
		if len(left) > 0 {
			return nil
		}
	}
	for _, definition := range due {
		if err := r.DeleteObject(ctx, definition); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) has(name string) bool {
	return slices.ContainsFunc(s.all, func(d definition) bool { return d.crd.Name == name })
}

// ReasonNotSynced: a CustomResourceDefinition could not be written.
const ReasonNotSynced = "DefinitionNotSynced"

func kind() remote.GroupVersionKind {
	return apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
}
