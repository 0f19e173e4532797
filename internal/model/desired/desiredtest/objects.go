// Package desiredtest creates Kymas, templates, release metas and in-memory clusters for tests.
package desiredtest

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Namespace is the namespace of all objects in the control plane.
const Namespace = "kcp-system"

// Kyma returns a Kyma named "kyma-sample" with modules of these names.
func Kyma(modules ...string) *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kyma-sample", Namespace: Namespace, UID: "kyma-uid", Generation: 1,
			Labels: map[string]string{}, Annotations: map[string]string{},
		},
		Spec: v1beta2.KymaSpec{Channel: "regular"},
	}
	for _, module := range modules {
		kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: module})
	}
	return kyma
}

// Digest returns a well-formed sha256 digest made of one character.
func Digest(of string) string { return "sha256:" + strings.Repeat(of, 64) }

// Component returns the component name that Template gives a module.
func Component(module string) string { return "kyma-project.io/module/" + module }

// Descriptor returns a v2 component descriptor with one raw manifest.
func Descriptor(component, version string) *runtime.RawExtension {
	return RawDescriptor(component, version, map[string]any{
		"name": "raw-manifest", "type": "raw-manifest", "relation": "local", "version": version,
		"access": map[string]any{"type": "localBlob", "localReference": Digest("a"), "mediaType": "application/x-yaml"},
	})
}

// RawDescriptor returns a v2 component descriptor with these resources.
func RawDescriptor(component, version string, resources ...map[string]any) *runtime.RawExtension {
	raw, err := json.Marshal(map[string]any{
		"meta": map[string]any{"schemaVersion": "v2"},
		"component": map[string]any{
			"name": component, "version": version, "provider": "kyma-project.io",
			"componentReferences": []any{}, "sources": []any{}, "resources": resources,
			"repositoryContexts": []any{map[string]any{
				"type": "OCIRegistry", "baseUrl": "registry.example.com", "subPath": "modules", "componentNameMapping": "urlPath",
			}},
		},
	})
	if err != nil {
		panic(fmt.Sprintf("encode descriptor: %v", err))
	}
	return &runtime.RawExtension{Raw: raw}
}

// Template returns a ModuleTemplate named `<module>-<version>` with the module name in its spec, without a channel and
// with an embedded descriptor.
func Template(module, version string) *v1beta2.ModuleTemplate {
	name := module + "-" + version
	return &v1beta2.ModuleTemplate{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: Namespace, UID: types.UID(name), Generation: 1,
			Labels: map[string]string{}, Annotations: map[string]string{},
		},
		Spec: v1beta2.ModuleTemplateSpec{
			ModuleName: module, Version: version, Descriptor: Descriptor(Component(module), version),
		},
	}
}

// ChannelTemplate returns a ModuleTemplate of the older generation, which is chosen by its own channel. It is named
// `<module>-<channel>` and has the module name as a label.
func ChannelTemplate(module, channel, version string) *v1beta2.ModuleTemplate {
	template := Template(module, version)
	template.Name = module + "-" + channel
	template.UID = types.UID(template.Name)
	template.Labels[shared.LabelModuleName] = module
	template.Spec = v1beta2.ModuleTemplateSpec{Channel: channel, Descriptor: Descriptor(Component(module), version)}
	return template
}

// ReleaseMeta returns a ModuleReleaseMeta. The assignments are `channel=version`.
func ReleaseMeta(module string, assignments ...string) *v1beta2.ModuleReleaseMeta {
	meta := &v1beta2.ModuleReleaseMeta{
		ObjectMeta: metav1.ObjectMeta{
			Name: module, Namespace: Namespace, UID: types.UID("meta-" + module), Generation: 1, Labels: map[string]string{},
		},
		Spec: v1beta2.ModuleReleaseMetaSpec{ModuleName: module, OCMComponentName: Component(module)},
	}
	for _, assignment := range assignments {
		channel, version, _ := strings.Cut(assignment, "=")
		meta.Spec.Channels = append(meta.Spec.Channels, v1beta2.ChannelVersion{Channel: channel, Version: version})
	}
	return meta
}

// Accepted sets what the remote Kyma last asked for.
func Accepted(kyma *v1beta2.Kyma, generation v1beta2.SyncGeneration, channel string, modules ...v1beta2.Module) *v1beta2.Kyma {
	kyma.Status.Remote = &v1beta2.RemoteStatus{
		Name: "default", Namespace: "kyma-system", Generation: generation, Cluster: "remote-uid",
		UID: "remote-kyma-uid", Channel: channel, Modules: modules,
	}
	return kyma
}
