package inprocess

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

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/test/harness/fixture"
)

// Snapshot is the state of an installation, by name, without what differs between installations or changes with time:
// the module's objects in the remote cluster, the default custom resource, and the Manifest with inventory and status.
type Snapshot map[string]string

// Difference lists how a snapshot differs from the wanted one.
func (t Snapshot) Difference(want Snapshot) []string {
	names := map[string]bool{}
	for _, each := range []Snapshot{t, want} {
		for name := range each {
			names[name] = true
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		have, ok := t[name]
		wanted, was := want[name]
		switch {
		case !ok:
			lines = append(lines, name+" is missing")
		case !was:
			lines = append(lines, name+" is not expected: "+have)
		case have != wanted:
			lines = append(lines, fmt.Sprintf("%s differs:\n  have %s\n  want %s", name, have, wanted))
		}
	}
	return lines
}

// Snapshot reads the state of the installation.
func (p *Installation) Snapshot() Snapshot {
	p.Helper()
	snapshot, uids := Snapshot{}, map[string]string{}
	for _, resource := range fixture.Module(p.ID).Resources() {
		options := metav1.ListOptions{LabelSelector: shared.LabelComponent + "=" + p.Manifest.Name}
		if resource == fixture.Module(p.ID).Widgets() {
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
			snapshot[p.anonymous("remote "+id)] = p.anonymous(encode(p, essence(u, resource == fixture.Module(p.ID).Widgets())))
		}
	}
	if m := p.Read(); m != nil {
		for _, entry := range m.Status.Inventory {
			// An inventory is correct when it has the UIDs of the live objects.
			entry.UID = sameness(entry.UID, uids[entry.ID])
			// It depends on what differs between installations.
			entry.Hash = fmt.Sprintf("%d characters", len(entry.Hash))
			snapshot[p.anonymous("inventory "+entry.ID)] = p.anonymous(encode(p, entry))
		}
		snapshot["Manifest"] = p.anonymous(encode(p, statusOf(m, uids)))
	}
	return snapshot
}

// essence is an object without what the server sets.
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

// statusOf is what a Manifest's status says, without its inventory and without times.
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
	// It depends on the UIDs, which differ between installations.
	s.Fingerprint = fmt.Sprintf("%d characters", len(s.Fingerprint))
	return map[string]any{"finalizers": m.Finalizers, "deleting": m.DeletionTimestamp != nil, "status": s}
}

// sameness describes whether two values that should be equal are.
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

// anonymous replaces the names and digests of the installation in a text.
func (p *Installation) anonymous(text string) string {
	return digests.ReplaceAllString(strings.ReplaceAll(text, p.ID, "ID"), "${2}DIGEST")
}

func encode(p *Installation, value any) string {
	p.Helper()
	text, err := json.Marshal(value)
	require.NoError(p, err)
	return string(text)
}
