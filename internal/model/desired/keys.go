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

// Keys connect three things: the names by which a Kyma's module entries refer to templates and release
// metas, the names that these answer to, and the indexes of caches. A key is either a reference (a module
// name, a template's name or namespace/name, a component name) or a version key (`module@version`). The
// two cannot be confused: a reference never contains an @.

// ModuleNameOf is the module name of a template: its field, else its label.
func ModuleNameOf(template *v1beta2.ModuleTemplate) string {
	return cmp.Or(template.Spec.ModuleName, template.Labels[shared.LabelModuleName])
}

// ReleaseMetaModule is the module that a release meta is about: its field, else its own name.
func ReleaseMetaModule(meta *v1beta2.ModuleReleaseMeta) string {
	return cmp.Or(meta.Spec.ModuleName, meta.Name)
}

// versionKey is the key of one version of a module.
func versionKey(module, version string) string { return module + "@" + version }

// conventionalName is the name that the template of a version has by convention.
func conventionalName(module, version string) string { return module + "-" + version }

// KeysOfTemplate lists every key that a template answers to. A synced copy answers to none, and one that was
// imported from a remote cluster to that of its Kyma only.
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
		// A template that is only named by convention, without saying its module, belongs to that module.
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

// KeysOfReleaseMeta lists every key that a release meta answers to. A synced copy answers to none.
func KeysOfReleaseMeta(meta *v1beta2.ModuleReleaseMeta) []string {
	if IsSyncedCopy(meta) {
		return nil
	}
	if concernsMandatory(meta, meta.Spec.Mandatory != nil) {
		return []string{ReleaseMetaModule(meta), MandatoryKey}
	}
	return []string{ReleaseMetaModule(meta)}
}

// References lists the keys that concern a Kyma: a change of a template or release meta that shares a key
// with it (KeysOfTemplate, KeysOfReleaseMeta) may change what the Kyma gets. It is what a cache indexes
// Kymas by. Modules that are only left in the status are included, as they are still shown.
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

// EmbeddedComponent is the component name in a template's embedded descriptor, in either schema; empty
// where there is none and the descriptor is to be fetched.
func EmbeddedComponent(template *v1beta2.ModuleTemplate) string {
	component, _ := embedded(template)
	return component
}

// TemplateVersion is the version that a template says it is of, itself or in its descriptor, read without validation.
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
	_ = json.Unmarshal(template.Spec.Descriptor.Raw, &head) // what is wrong is reported where the descriptor is used
	return cmp.Or(head.Component.Name, head.Metadata.Name), cmp.Or(head.Component.Version, head.Metadata.Version)
}
