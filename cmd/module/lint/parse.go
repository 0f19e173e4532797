package lint

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// object is a Kubernetes object and its place in a file.
type object struct {
	*unstructured.Unstructured
	file     string
	document int
	// item is the position in a list, from 1. It is 0 for an object outside of a list.
	item int
	// hook is true for a chart hook, neverRuns for a hook that the installation skips.
	hook, neverRuns bool
	// size is the number of bytes of the object as JSON.
	size int
}

// where describes the object's place within its file.
func (o object) where() string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	if o.item > 0 {
		return fmt.Sprintf("item %d of document %d (%s %s)", o.item, o.document, o.GetKind(), name)
	}
	return fmt.Sprintf("document %d (%s %s)", o.document, o.GetKind(), name)
}

func parseManifests(files []layers.File, report *Report) []object {
	var objects []object
	for _, file := range files {
		objects = append(objects, parseDocuments(file.Path, file.Data, report)...)
	}
	return objects
}

// parseDocuments reads the YAML documents of a file like the installer does: with kubectl's YAML, in which a bare y
// means true, and with the items of lists as separate objects. It reports and skips documents that are not objects, and
// skips empty documents.
func parseDocuments(file string, data []byte, report *Report) []object {
	var objects []object
	document := 0
	for text := range render.Split(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		document++
		where := fmt.Sprintf("document %d", document)
		raw, err := yaml.YAMLToJSON(text)
		if err != nil {
			report.fail(file, where, "is not YAML: %v", err)
			continue
		}
		if bytes.Equal(raw, []byte("null")) {
			continue
		}
		warnOfEqualKeys(file, where, text, report)
		// Do not use unstructured's own decoder: it refuses an object without a kind before the other checks run.
		parsed := map[string]any{}
		if err := json.Unmarshal(raw, &parsed); err != nil {
			report.fail(file, where, "is not a Kubernetes object: %v", err)
			continue
		}
		read := object{Unstructured: &unstructured.Unstructured{Object: parsed}, file: file, document: document, size: len(raw)}
		if !read.IsList() || !strings.HasSuffix(read.GetKind(), "List") {
			objects = append(objects, read.normalized(report))
			continue
		}
		items, _ := parsed["items"].([]any)
		for i, content := range items {
			fields, isMap := content.(map[string]any)
			if !isMap {
				report.fail(file, where, "item %d is not a Kubernetes object", i+1)
				continue
			}
			item := object{Unstructured: &unstructured.Unstructured{Object: fields}, file: file, document: document, item: i + 1}
			if encoded, err := json.Marshal(fields); err == nil {
				item.size = len(encoded)
			}
			objects = append(objects, item.normalized(report))
		}
	}
	return objects
}

// warnOfEqualKeys warns of duplicate keys in a map. As with kubectl and Helm, the last one counts.
func warnOfEqualKeys(file, where string, text []byte, report *Report) {
	if _, err := yaml.YAMLToJSONStrict(text); err != nil {
		report.warn(file, where, "duplicate key, the last one counts: %v", err)
	}
}

// normalized changes the object like the installation does, and warns of what the installation drops.
func (o object) normalized(report *Report) object {
	for _, repeated := range render.Normalize(o.Unstructured) {
		report.warn(o.file, o.where(), "%s: the last one counts", repeated)
	}
	return o
}
