package desired

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Keys connect a Kyma's module entries with templates and release metas, also in the indexes of caches. An entry has
// keys for the objects that it may mean, and an object has keys for the entries that may mean it. A key is either a
// reference (a module name, a template's name or namespace/name, a component name) or a version key (`module@version`).
// A reference never contains an @, so the two cannot be confused.

// ModuleNameOf returns the module name of a template: the field, else the label.
func ModuleNameOf(template *v1beta2.ModuleTemplate) string {
	return cmp.Or(template.Spec.ModuleName, template.Labels[shared.LabelModuleName])
}

// ReleaseMetaModule returns the module that a release meta is about: the field, else the release meta's own name.
func ReleaseMetaModule(meta *v1beta2.ModuleReleaseMeta) string {
	return cmp.Or(meta.Spec.ModuleName, meta.Name)
}

// versionKey returns the key of one version of a module.
func versionKey(module, version string) string { return module + "@" + version }

// conventionalName returns the name that the template of a version has by convention.
func conventionalName(module, version string) string { return module + "-" + version }

// KeysOfTemplate returns the keys of a template. A synced copy has none. A template that was imported from a remote
// cluster has only the key of its Kyma.
func KeysOfTemplate(template *v1beta2.ModuleTemplate) []string {
	if IsSyncedCopy(template) {
		return nil
	}
	if ref, imported := ImportedFrom(template); imported {
		return keysOfImported(template, ref)
	}
	keys := []string{template.Name, template.Namespace + "/" + template.Name}
	for _, module := range []string{template.Spec.ModuleName, template.Labels[shared.LabelModuleName]} {
		if module == "" {
			continue
		}
		keys = append(keys, module)
		if template.Spec.Version != "" {
			keys = append(keys, versionKey(module, template.Spec.Version))
		}
	}
	if template.Spec.Version != "" {
		// A template with the conventional name that does not name its module belongs to that module.
		if module, named := strings.CutSuffix(template.Name, "-"+template.Spec.Version); named && module != "" {
			keys = append(keys, module, versionKey(module, template.Spec.Version))
		}
	}
	if component := EmbeddedComponent(template); component != "" {
		keys = append(keys, component)
	}
	if concernsMandatory(template, MakesMandatory(template)) {
		keys = append(keys, MandatoryKey)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// KeysOfReleaseMeta returns the keys of a release meta. A synced copy has none.
func KeysOfReleaseMeta(meta *v1beta2.ModuleReleaseMeta) []string {
	if IsSyncedCopy(meta) {
		return nil
	}
	if concernsMandatory(meta, meta.Spec.Mandatory != nil) {
		return []string{ReleaseMetaModule(meta), MandatoryKey}
	}
	return []string{ReleaseMetaModule(meta)}
}

// References returns the keys that concern a Kyma. A change of a template or release meta with one of these keys
// (KeysOfTemplate, KeysOfReleaseMeta) may change what the Kyma gets. Caches index Kymas by References. Modules that are
// only in the status are included, because the status still shows them.
func References(kyma *v1beta2.Kyma) []string {
	keys := []string{MandatoryKey}
	keys = append(keys, lists.Map(kyma.Spec.Modules, func(module v1beta2.Module) string { return module.Name })...)
	if remote := kyma.Status.Remote; remote != nil {
		keys = append(keys, lists.Map(remote.Modules, func(module v1beta2.Module) string { return module.Name })...)
	}
	for _, module := range kyma.Status.Modules {
		keys = append(keys, module.Name)
		if template := module.Template; template != nil && template.Metadata.Name != "" {
			keys = append(keys, template.Metadata.Namespace+"/"+template.Metadata.Name)
		}
	}
	keys = append(keys, remoteReferences(kyma)...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// EmbeddedComponent returns the component name in a template's embedded descriptor, in either schema. It is empty if
// the descriptor is not embedded and must be fetched.
func EmbeddedComponent(template *v1beta2.ModuleTemplate) string {
	component, _ := embedded(template)
	return component
}

// TemplateVersion returns the version in a template's field or its embedded descriptor, without validation.
func TemplateVersion(template *v1beta2.ModuleTemplate) string {
	if template.Spec.Version != "" {
		return template.Spec.Version
	}
	_, version := embedded(template)
	return version
}

func embedded(template *v1beta2.ModuleTemplate) (component, version string) {
	if template.Spec.Descriptor == nil || len(template.Spec.Descriptor.Raw) == 0 {
		return "", ""
	}
	type named struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	var head struct {
		Component named `json:"component"`
		Metadata  named `json:"metadata"`
	}
	_ = json.Unmarshal(template.Spec.Descriptor.Raw, &head) // errors are reported where the descriptor is used
	return cmp.Or(head.Component.Name, head.Metadata.Name), cmp.Or(head.Component.Version, head.Metadata.Version)
}
