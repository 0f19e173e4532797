package sync

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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Annotations on the CustomResourceDefinitions that we bring into remote clusters.
const (
	// annotationDefinitionDigest is the digest of the definition as it was brought.
	annotationDefinitionDigest = shared.OperatorGroup + "/definition-digest"
	// annotationDefinitionVersion is the version of the build that brought it: an older build leaves it alone.
	annotationDefinitionVersion = shared.OperatorGroup + "/definition-version"
	// annotationDefinitionCreated marks a definition that was not there before us, and is ours to delete.
	annotationDefinitionCreated = shared.OperatorGroup + "/definition-created"
	// annotationGeneration is the metadata.generation that an object had after we wrote it: any other means
	// that somebody changed its spec since, which is so seen without reading bodies.
	annotationGeneration = shared.OperatorGroup + "/synced-generation"
)

// definition is a CustomResourceDefinition as it is brought into remote clusters.
type definition struct {
	crd     *apiextensionsv1.CustomResourceDefinition
	digest  string
	version string
}

func prepareDefinitions(crds []*apiextensionsv1.CustomResourceDefinition, version string) ([]definition, error) {
	prepared := make([]definition, 0, len(crds))
	for _, crd := range crds {
		crd = crd.DeepCopy()
		encoded, err := json.Marshal(crd.Spec)
		if err != nil {
			return nil, fmt.Errorf("sync: encode CustomResourceDefinition %s: %w", crd.Name, err)
		}
		sum := sha256.Sum256(encoded)
		d := definition{crd: crd, digest: hex.EncodeToString(sum[:16]), version: version}
		crd.Labels = merged(crd.Labels, map[string]string{shared.LabelManagedBy: shared.ManagedByKyma})
		crd.Annotations = merged(crd.Annotations, d.marks())
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		prepared = append(prepared, d)
	}
	return prepared, nil
}

func (d definition) marks() map[string]string {
	return map[string]string{annotationDefinitionDigest: d.digest, annotationDefinitionVersion: d.version}
}

// current tells whether a definition in a cluster, by its metadata, needs nothing: it is ours as it should
// be, or a newer build brought it.
func (d definition) current(object metav1.Object) bool {
	annotations := object.GetAnnotations()
	if newer(annotations[annotationDefinitionVersion], d.version) {
		return true
	}
	return annotations[annotationDefinitionDigest] == d.digest && unchanged(object) &&
		object.GetLabels()[shared.LabelManagedBy] == shared.ManagedByKyma
}

// unchanged tells whether an object's spec is as it was when we wrote it.
func unchanged(object metav1.Object) bool {
	return object.GetAnnotations()[annotationGeneration] == strconv.FormatInt(object.GetGeneration(), 10)
}

// noteGeneration writes down the generation that an object has after a write, unless it was foreseen.
func (r *remote) noteGeneration(ctx context.Context, object client.Object, owner client.FieldOwner) error {
	if unchanged(object) {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, annotationGeneration, object.GetGeneration())
	err := r.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), owner)
	if err != nil {
		return fmt.Errorf("note the generation of %s: %w", object.GetName(), err)
	}
	r.writes++
	return nil
}

// newer compares versions of builds; one that cannot be parsed is the oldest.
func newer(theirs, ours string) bool {
	a, err := semver.NewVersion(theirs)
	if err != nil {
		return false
	}
	b, err := semver.NewVersion(ours)
	return err != nil || a.GreaterThan(b)
}

// ensureDefinitions brings our definitions: those that are missing are created, those that an older build
// or somebody else brought are updated, never downgraded and never narrowed. It says which were created,
// for it takes a moment until those are served.
func (a *Activities) ensureDefinitions(ctx context.Context, r *remote) (created freshness, err error) {
	if r.own {
		return freshNone, nil // they are the control plane's own, and not ours to change from here
	}
	there, err := listMetadata(ctx, r, definitionKind(), client.MatchingLabels{shared.LabelManagedBy: shared.ManagedByKyma})
	if err != nil {
		return freshNone, err
	}
	total := 0
	for _, d := range a.definitions {
		at := slices.IndexFunc(there, func(o metav1.PartialObjectMetadata) bool { return o.Name == d.crd.Name })
		if at >= 0 && there[at].DeletionTimestamp.IsZero() && d.current(&there[at]) {
			continue
		}
		made, err := r.ensureDefinition(ctx, d, at < 0)
		if err != nil {
			return created, err
		}
		if made {
			total++
			created = freshSome
		}
	}
	if total > 0 && total == len(a.definitions) {
		created = freshAll
	}
	return created, nil
}

// freshness says how many of our definitions a synchronization has created. What was created just now has no objects,
// and is not served at once.
type freshness int

const (
	freshNone freshness = iota
	freshSome
	freshAll
)

func (r *remote) ensureDefinition(ctx context.Context, d definition, unseen bool) (created bool, err error) {
	if unseen {
		crd := d.crd.DeepCopy()
		crd.Annotations[annotationDefinitionCreated] = shared.ValueTrue
		crd.Annotations[annotationGeneration] = "1"
		err := r.Create(ctx, crd, remoteOwner())
		if err == nil {
			r.writes++
			return true, r.noteGeneration(ctx, crd, remoteOwner())
		}
		if !apierrors.IsAlreadyExists(err) {
			return false, fmt.Errorf("create CustomResourceDefinition %s: %w", d.crd.Name, err)
		}
	}
	// The API server's own controllers write the status of a definition that was just changed.
	return false, retry.RetryOnConflict(retry.DefaultBackoff, func() error { return r.updateDefinition(ctx, d) })
}

func (r *remote) updateDefinition(ctx context.Context, d definition) error {
	there := &apiextensionsv1.CustomResourceDefinition{}
	if err := r.Get(ctx, client.ObjectKeyFromObject(d.crd), there); err != nil {
		return fmt.Errorf("read CustomResourceDefinition %s: %w", d.crd.Name, err)
	}
	if !there.DeletionTimestamp.IsZero() {
		return fault.New(fault.Transient, ReasonDefinition, "CustomResourceDefinition %s is being deleted", d.crd.Name)
	}
	if d.current(there) {
		return nil
	}
	widen(there, d)
	there.Annotations[annotationGeneration] = strconv.FormatInt(there.Generation+1, 10)
	err := r.Update(ctx, there, remoteOwner())
	if apierrors.IsInvalid(err) {
		return fault.New(fault.Rejected, ReasonDefinition, "update CustomResourceDefinition %s: %w", d.crd.Name, err)
	}
	if err != nil {
		return fmt.Errorf("update CustomResourceDefinition %s: %w", d.crd.Name, err)
	}
	r.writes++
	return r.noteGeneration(ctx, there, remoteOwner())
}

// widen makes a definition in a cluster ours. Versions that it has beyond ours stay served, for objects may
// be stored in them, and nothing is taken from its labels and annotations.
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
	there.Labels = merged(there.Labels, ours.Labels)
	there.Annotations = merged(there.Annotations, ours.Annotations)
}
