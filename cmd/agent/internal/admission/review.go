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

// review is what is read of an AdmissionReview (admission.k8s.io/v1): of objects no content, only digests of it, as
// what is held at once has to be small.
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

// object has the digests of an object's fields by name, but for those that every object has.
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

// digest is of a field's content, as the API server wrote it: it writes equal content equally.
type digest [sha256.Size]byte

// UnmarshalJSON implements json.Unmarshaler.
func (d *digest) UnmarshalJSON(data []byte) error {
	*d = sha256.Sum256(data)
	return nil
}

// changed is whether the watched field differs: the status where that is what was written, else the spec, and of an
// object without one all but the status.
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

// event says what changed. An object that is created has a name that the request does not say where it was generated,
// and one that is deleted with others where they were listed.
func (r *request) event() shared.RemoteEvent {
	namespace, name := r.Namespace, r.Name
	for _, each := range []*object{r.OldObject, r.Object} {
		if each != nil && each.name != "" {
			namespace, name = each.namespace, each.name
		}
	}
	return shared.RemoteEvent{Watched: shared.WatchedObject{Namespace: namespace, Name: name}, WatchedGVK: r.Kind}
}
