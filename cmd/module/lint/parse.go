package lint

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
)

// object is a Kubernetes object and where it was read.
type object struct {
	*unstructured.Unstructured
	file     string
	document int
	// size is the number of bytes of the object as JSON.
	size int
}

// where names the object within its file.
func (o object) where() string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
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

// parseDocuments reads the YAML documents of a file as the installer does:
// with the YAML of kubectl, in which a bare y means true. What is no object is
// reported and left out; empty documents are passed over.
func parseDocuments(file string, data []byte, report *Report) []object {
	var objects []object
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for document := 1; ; document++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		where := fmt.Sprintf("document %d", document)
		if err != nil {
			report.fail(file, where, "is no YAML: %v", err)
			return objects
		}
		raw, err := yaml.YAMLToJSON(text)
		if err != nil {
			report.fail(file, where, "is no YAML: %v", err)
			continue
		}
		if bytes.Equal(raw, []byte("null")) {
			continue
		}
		if _, err := yaml.YAMLToJSONStrict(text); err != nil {
			report.warn(file, where, "of two equal keys the last one counts: %v", err)
		}
		// Not unstructured's own decoder, which refuses an object without a kind
		// before we can say what else it lacks.
		parsed := map[string]any{}
		if err := json.Unmarshal(raw, &parsed); err != nil {
			report.fail(file, where, "is no Kubernetes object: %v", err)
			continue
		}
		objects = append(objects, object{
			Unstructured: &unstructured.Unstructured{Object: parsed},
			file:         file, document: document, size: len(raw),
		})
	}
}
