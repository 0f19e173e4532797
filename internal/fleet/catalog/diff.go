package catalog

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Difference holds the writes that turn a remote catalog into the desired one.
type Difference struct {
	apply []change
	// remove holds objects of ours that this Kyma may no longer see.
	remove []*metav1.PartialObjectMetadata
	// blocked holds the names that objects of other owners have taken.
	blocked []string
}

// First returns the first object to change or remove, if it already exists in the remote cluster.
func (d Difference) First(there Lists) client.Object {
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

// Digest returns a digest of the differing objects and their desired content.
func (d Difference) Digest() string {
	var all []any
	for _, change := range d.apply {
		all = append(all, change.object.kind, change.object.name, change.object.digest)
	}
	for _, object := range d.remove {
		all = append(all, object.Kind, object.Name)
	}
	return desired.DigestOf(all...)
}

type change struct {
	object Object
	// generation is the object's generation after the apply, if the apply changes its spec.
	generation int64
}

// IsEmpty reports whether there is nothing to write.
func (d Difference) IsEmpty() bool { return len(d.apply) == 0 && len(d.remove) == 0 }

// Diff compares by metadata alone: the digest on the object, the generation that our last write left, its labels and
// annotations. It neither changes nor removes objects of other owners.
func Diff(wanted []Object, there Lists, whose Owner) Difference {
	var diff Difference
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
			diff.apply = append(diff.apply, change{object, 1})
		case !found.DeletionTimestamp.IsZero():
			// The object is created again after its deletion.
		case !whose.owns(found):
			if !whose.another(found) {
				diff.blocked = append(diff.blocked, object.kind+" "+object.name)
			}
		case !asWanted(object, found):
			diff.apply = append(diff.apply, change{object, found.Generation + 1})
		}
	}
	for _, kind := range kinds() {
		for i := range there[kind] {
			found := &there[kind][i]
			if !listed[[2]string{kind, found.Name}] && found.DeletionTimestamp.IsZero() && IsApplied(found) && whose.owns(found) {
				diff.remove = append(diff.remove, found)
			}
		}
	}
	return diff
}

func asWanted(object Object, found *metav1.PartialObjectMetadata) bool {
	return remote.IsUnchanged(found) && IsApplied(found) && remote.HasLabels(found.Labels, object.labels()) &&
		remote.HasLabels(found.Annotations, object.annotations())
}
