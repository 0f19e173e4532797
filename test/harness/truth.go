package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Truth is what there is of a place, by name, without what differs from one place or time to another: the module's
// objects in the remote cluster, the default custom resource, and the Manifest with inventory and status.
type Truth map[string]string

// Difference says in lines how a truth differs from the one that is wanted; empty when it does not.
func (t Truth) Difference(want Truth) []string {
	names := map[string]bool{}
	for _, each := range []Truth{t, want} {
		for name := range each {
			names[name] = true
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		have, is := t[name]
		wanted, was := want[name]
		switch {
		case !is:
			lines = append(lines, name+" is missing")
		case !was:
			lines = append(lines, name+" is too much: "+have)
		case have != wanted:
			lines = append(lines, fmt.Sprintf("%s differs:\n  have %s\n  want %s", name, have, wanted))
		}
	}
	return lines
}

// Truth reads the truth of the place.
func (p *Place) Truth() Truth {
	p.Helper()
	truth, uids := Truth{}, map[string]string{}
	for _, resource := range Twenty(p.ID).Resources() {
		options := metav1.ListOptions{LabelSelector: shared.LabelComponent + "=" + p.Manifest.Name}
		if resource == Twenty(p.ID).Widgets() {
			options.LabelSelector = ""
		}
		list, err := p.remote.Resource(resource).List(context.Background(), options)
		if apierrors.IsNotFound(err) {
			continue // the definition is not there
		}
		require.NoError(p, err)
		for i := range list.Items {
			u := &list.Items[i]
			id, err := v1beta2.InventoryID(u.GroupVersionKind().GroupKind(), keyOf(u.GetNamespace(), u.GetName()))
			require.NoError(p, err)
			uids[id] = string(u.GetUID())
			truth[p.anonymous("remote "+id)] = p.anonymous(encode(p, essence(u, resource == Twenty(p.ID).Widgets())))
		}
	}
	if m := p.Read(); m != nil {
		for _, entry := range m.Status.Inventory {
			// An inventory is right when it names the very objects that are there.
			entry.UID = sameness(entry.UID, uids[entry.ID])
			// It is over what differs from place to place.
			entry.Hash = fmt.Sprintf("%d characters", len(entry.Hash))
			truth[p.anonymous("inventory "+entry.ID)] = p.anonymous(encode(p, entry))
		}
		truth["Manifest"] = p.anonymous(encode(p, statusOf(m, uids)))
	}
	return truth
}

// essence is an object without what the server or time makes of it.
func essence(u *unstructured.Unstructured, withStatus bool) map[string]any {
	owned := map[string]any{}
	for _, entry := range u.GetManagedFields() {
		if entry.Manager == shared.FieldManagerModuleResources {
			owned[string(entry.Operation)+" "+entry.Subresource] = entry.FieldsV1
		}
	}
	object := u.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	annotations := object.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision")
	object.SetAnnotations(annotations)
	for _, field := range []string{"clusterIP", "clusterIPs"} {
		unstructured.RemoveNestedField(object.Object, "spec", field)
	}
	if !withStatus {
		delete(object.Object, "status")
	}
	return map[string]any{"object": object.Object, "ours": owned}
}

// statusOf is what a Manifest's status says, without its inventory and with the times left out.
func statusOf(m *v1beta2.Manifest, uids map[string]string) map[string]any {
	s := m.Status.DeepCopy()
	s.Inventory = nil
	for i := range s.Conditions {
		s.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	if s.LastOperation != nil {
		s.LastOperation.LastUpdateTime = metav1.Time{}
	}
	if s.DefaultCR != nil {
		gvk, name := schema.FromAPIVersionAndKind(s.DefaultCR.APIVersion, s.DefaultCR.Kind), keyOf(s.DefaultCR.Namespace, s.DefaultCR.Name)
		if id, err := v1beta2.InventoryID(gvk.GroupKind(), name); err == nil {
			s.DefaultCR.UID = sameness(s.DefaultCR.UID, uids[id])
		}
	}
	s.InputsDigest = sameness(s.InputsDigest, manifests.InputsDigest(m))
	// It is over the uids, which differ from place to place.
	s.Fingerprint = fmt.Sprintf("%d characters", len(s.Fingerprint))
	return map[string]any{"finalizers": m.Finalizers, "deleting": m.DeletionTimestamp != nil, "status": s}
}

// sameness says of two values that should be equal whether they are.
func sameness(recorded, actual string) string {
	switch recorded {
	case "":
		return ""
	case actual:
		return "the right one"
	}
	return "another one: " + recorded
}

var digests = regexp.MustCompile(`(sha256:)?[0-9a-f]{64}|(applied-digest":")[^"]*`)

// anonymous takes the place's own names and digests out of a text.
func (p *Place) anonymous(text string) string {
	return digests.ReplaceAllString(strings.ReplaceAll(text, p.ID, "ID"), "${2}DIGEST")
}

func encode(p *Place, value any) string {
	p.Helper()
	text, err := json.Marshal(value)
	require.NoError(p, err)
	return string(text)
}
