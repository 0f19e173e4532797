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

// Parser collects the objects of a module from its documents and checks them.
type Parser struct {
	limits   Limits
	Rendered Rendered
	seen     map[identity]string
	// Nameless objects count too.
	Nameless bool
	// bytes is what the documents read so far come to as JSON.
	bytes int64
	// skip, where set, tells which objects do not count.
	skip func(*unstructured.Unstructured) bool
}

// identity is what makes two objects the same one, whatever their versions.
type identity struct {
	kind schema.GroupKind
	name types.NamespacedName
}

// NewParser returns a parser that has no objects yet.
func NewParser(limits Limits) *Parser {
	return &Parser{limits: limits, seen: map[identity]string{}}
}

// Directory reads all YAML and JSON files of an archive in the order of their paths. Others are ignored,
// as are hidden ones.
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

// Documents reads a stream of YAML documents (Split) and decodes them as kubectl does. where is for messages.
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
	// Of two equal keys the last one counts, as for kubectl and Helm. `module lint` warns of them.
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

// object takes an object, of which size is the number of bytes as JSON.
func (p *Parser) object(at string, u *unstructured.Unstructured, size int) error {
	apiVersion, kind := u.GetAPIVersion(), u.GetKind()
	if apiVersion == "" || kind == "" {
		return Invalid("%s has no apiVersion or kind", at)
	}
	if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
		return Invalid("%s has apiVersion %q, which is none", at, apiVersion)
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

// list takes a list apart, as kubectl does.
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

// dropNulls takes metadata that is null for what an API server, and so kubectl, takes it for: labels, annotations and a
// namespace that are not there, and values of labels and annotations that are empty.
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

// checkMetadata finds metadata of wrong types, which the accessors of unstructured objects pass over.
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
