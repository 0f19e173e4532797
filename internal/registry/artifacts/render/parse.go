package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Parser collects and checks the objects of a module from its documents.
type Parser struct {
	limits   Limits
	Rendered Rendered
	seen     map[identity]string
	// Nameless allows objects without a name.
	Nameless bool
	// bytes is the size of the documents read so far, as JSON.
	bytes int64
	// skip may exclude objects. It may be nil.
	skip func(*unstructured.Unstructured) bool
}

// identity identifies an object, whatever its version.
type identity struct {
	kind schema.GroupKind
	name types.NamespacedName
}

// NewParser returns a parser without objects.
func NewParser(limits Limits) *Parser {
	return &Parser{limits: limits, seen: map[identity]string{}}
}

// Directory reads the YAML and JSON files of an archive in the order of their paths. It ignores other and hidden files.
func (p *Parser) Directory(files []File) error {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range files {
		base := path.Base(f.Name)
		switch {
		case strings.HasPrefix(base, "."):
			continue
		case base == "kustomization.yaml" || base == "kustomization.yml" || base == "Kustomization":
			return fault.New(fault.Rejected, ReasonUnsupported,
				"%s: kustomize folders are not supported; ship what `kustomize build` writes as a raw manifest", f.Name)
		}
		switch path.Ext(base) {
		case ".yaml", ".yml", ".json":
			if err := p.Documents(f.Name, f.Content); err != nil {
				return err
			}
		}
	}
	return nil
}

// Documents reads a stream of YAML documents (Split) and decodes them like kubectl. where names the stream in messages.
func (p *Parser) Documents(where string, content []byte) error {
	if !utf8.Valid(content) {
		return Invalid("%s is not UTF-8", where)
	}
	number := 0
	for document := range Split(bytes.TrimPrefix(content, []byte("\ufeff"))) {
		number++
		if number > p.limits.Objects {
			return fault.New(fault.Rejected, ReasonLayerTooLarge, "%s has more than %d documents", where, p.limits.Objects)
		}
		if err := p.document(fmt.Sprintf("document %d of %s", number, where), document); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parser) document(at string, document []byte) error {
	if err := checkAliases(document, p.limits.UnpackedBytes-p.bytes); err != nil {
		return fault.New(fault.Rejected, ReasonLayerTooLarge, "%s: %w", at, err)
	}
	// Like in kubectl and Helm, the last of two equal keys wins. `module lint` warns about them.
	asJSON, err := yaml.YAMLToJSON(document)
	if err != nil {
		return Invalid("%s is not valid YAML: %s", at, brief(err))
	}
	if string(asJSON) == "null" {
		return nil
	}
	var content map[string]any
	if err := utiljson.Unmarshal(asJSON, &content); err != nil {
		return Invalid("%s is not an object", at)
	}
	if len(content) == 0 {
		return nil
	}
	if p.bytes += int64(len(asJSON)); p.bytes > p.limits.UnpackedBytes {
		return fault.New(fault.Rejected, ReasonLayerTooLarge, "the objects come to more than %d bytes", p.limits.UnpackedBytes)
	}
	return p.object(at, &unstructured.Unstructured{Object: content}, len(asJSON))
}

// object checks and collects an object. size is the number of its bytes as JSON.
func (p *Parser) object(at string, u *unstructured.Unstructured, size int) error {
	apiVersion, kind := u.GetAPIVersion(), u.GetKind()
	if apiVersion == "" || kind == "" {
		return Invalid("%s has no apiVersion or kind", at)
	}
	if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
		return Invalid("%s has the invalid apiVersion %q", at, apiVersion)
	}
	if strings.HasSuffix(kind, "List") && u.IsList() {
		return p.list(at, u)
	}
	if _, isMap := u.Object["metadata"].(map[string]any); !p.Nameless && (!isMap || u.GetName() == "") {
		return Invalid("%s (%s) has no metadata.name", at, kind)
	}
	dropNulls(u)
	if err := checkMetadata(u); err != nil {
		return Invalid("%s (%s %s): %w", at, kind, u.GetName(), err)
	}
	if size > p.limits.ObjectBytes {
		return fault.New(fault.Rejected, ReasonLayerTooLarge, "%s: %s %s has %d bytes; a cluster cannot store an object above %d bytes",
			at, kind, u.GetName(), size, p.limits.ObjectBytes)
	}
	Normalize(u)
	if len(p.Rendered.Objects)+len(p.Rendered.Hooks)+len(p.Rendered.LeftOut) >= p.limits.Objects {
		return fault.New(fault.Rejected, ReasonLayerTooLarge, "there are more than %d objects", p.limits.Objects)
	}
	if p.skip != nil && p.skip(u) {
		return nil
	}
	id := identity{kind: u.GroupVersionKind().GroupKind(), name: types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}}
	if first, twice := p.seen[id]; twice {
		return Invalid("%s %s is in %s and in %s", kind, strings.TrimPrefix(id.name.String(), "/"), first, at)
	}
	p.seen[id] = at
	p.Rendered.Objects = append(p.Rendered.Objects, u)
	return nil
}

// list collects the items of a list, like kubectl does.
func (p *Parser) list(at string, u *unstructured.Unstructured) error {
	items, _ := u.Object["items"].([]any)
	for i, item := range items {
		content, isMap := item.(map[string]any)
		if !isMap {
			return Invalid("item %d of %s is not an object", i, at)
		}
		item := &unstructured.Unstructured{Object: content}
		if item.IsList() {
			return Invalid("item %d of %s is itself a list", i, at)
		}
		encoded, err := json.Marshal(content)
		if err != nil {
			return Invalid("item %d of %s cannot be written as JSON", i, at)
		}
		if err := p.object(fmt.Sprintf("item %d of %s", i, at), item, len(encoded)); err != nil {
			return err
		}
	}
	return nil
}

// dropNulls treats null in metadata like an API server and kubectl: null labels, annotations and namespaces are
// missing, and null values of labels and annotations are empty.
func dropNulls(u *unstructured.Unstructured) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations", "namespace"} {
		value, set := metadata[field]
		if set && value == nil {
			delete(metadata, field)
		}
		values, _ := value.(map[string]any)
		for key, value := range values {
			if value == nil {
				values[key] = ""
			}
		}
	}
}

// checkMetadata refuses metadata of wrong types. The accessors of unstructured objects ignore them silently.
func checkMetadata(u *unstructured.Unstructured) error {
	for _, field := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(u.Object, "metadata", field); err != nil {
			return fmt.Errorf("metadata.%s is not a map of strings", field)
		}
	}
	if _, _, err := unstructured.NestedString(u.Object, "metadata", "namespace"); err != nil {
		return errors.New("metadata.namespace is not a string")
	}
	return nil
}
