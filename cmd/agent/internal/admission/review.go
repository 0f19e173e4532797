package admission

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Operations that change an object.
const (
	opCreate = "CREATE"
	opUpdate = "UPDATE"
	opDelete = "DELETE"
)

const subresourceStatus = "status"

// review is the part of an AdmissionReview (admission.k8s.io/v1) that the agent reads. To keep memory small, it holds
// only digests of the content of objects.
type review struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *request `json:"request"`
}

type request struct {
	UID         string            `json:"uid"`
	Kind        shared.WatchedGVK `json:"kind"`
	SubResource string            `json:"subResource"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Operation   string            `json:"operation"`
	DryRun      bool              `json:"dryRun"`
	Object      *object           `json:"object"`
	OldObject   *object           `json:"oldObject"`
}

// object holds digests of an object's fields by name, except apiVersion, kind and metadata.
type object struct {
	name, namespace string
	fields          map[string]digest
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(data []byte) error {
	var about struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &about); err != nil {
		return fmt.Errorf("read an object's metadata: %w", err)
	}
	o.name, o.namespace = about.Metadata.Name, about.Metadata.Namespace
	if err := json.Unmarshal(data, &o.fields); err != nil {
		return fmt.Errorf("read an object: %w", err)
	}
	for _, each := range []string{"apiVersion", "kind", "metadata"} {
		delete(o.fields, each)
	}
	return nil
}

// digest is the hash of a field's JSON. The API server writes equal content in the same way.
type digest [sha256.Size]byte

// UnmarshalJSON implements json.Unmarshaler.
func (d *digest) UnmarshalJSON(data []byte) error {
	*d = sha256.Sum256(data)
	return nil
}

// changed reports whether the watched part of the object differs. That is the status if the request is for the status
// subresource. Otherwise it is the spec, or everything except the status if the object has no spec.
func (r *request) changed() bool {
	switch r.Operation {
	case opCreate, opDelete:
		return true
	case opUpdate:
	default:
		return false
	}
	before, after := r.OldObject.content(), r.Object.content()
	if r.SubResource == subresourceStatus {
		return before["status"] != after["status"]
	}
	_, had := before["spec"]
	_, has := after["spec"]
	if had || has {
		return had != has || before["spec"] != after["spec"]
	}
	delete(before, "status")
	delete(after, "status")
	return !maps.Equal(before, after)
}

func (o *object) content() map[string]digest {
	if o == nil {
		return nil
	}
	return o.fields
}

// event returns the event for a change. The object's own name takes precedence: the request has none if the name is
// generated, or if the object is deleted as part of a collection.
func (r *request) event() shared.RemoteEvent {
	namespace, name := r.Namespace, r.Name
	for _, each := range []*object{r.OldObject, r.Object} {
		if each != nil && each.name != "" {
			namespace, name = each.namespace, each.name
		}
	}
	return shared.RemoteEvent{Watched: shared.WatchedObject{Namespace: namespace, Name: name}, WatchedGVK: r.Kind}
}
