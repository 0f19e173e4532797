// Package template creates the resources that announce a module version to a
// control plane: ModuleTemplate and ModuleReleaseMeta.
package template

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
)

// ModuleTemplate returns the ModuleTemplate of one version of the module. The
// descriptor is JSON in schema v2, or {} to make the server fetch it from the
// registry. defaultCR is JSON, or nil if the module has none.
func ModuleTemplate(module config.Module, descriptor, defaultCR []byte) v1beta2.ModuleTemplate {
	template := v1beta2.ModuleTemplate{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: "ModuleTemplate"},
		ObjectMeta: metav1.ObjectMeta{
			// A ModuleReleaseMeta finds the version by this name.
			Name:        module.ModuleName + "-" + module.Version,
			Namespace:   module.Namespace,
			Labels:      map[string]string{},
			Annotations: map[string]string{},
		},
		Spec: v1beta2.ModuleTemplateSpec{
			Version:             module.Version,
			ModuleName:          module.ModuleName,
			Mandatory:           module.Mandatory,
			Descriptor:          &runtime.RawExtension{Raw: descriptor},
			Target:              module.Target,
			CustomStateCheck:    module.CustomStateChecks,
			Resources:           module.Resources,
			Info:                module.Info,
			AssociatedResources: module.AssociatedResources,
			Manager:             module.Manager,
			RequiresDowntime:    module.RequiresDowntime,
		},
	}
	if defaultCR != nil {
		template.Spec.Data = &runtime.RawExtension{Raw: defaultCR}
	}
	maps.Copy(template.Labels, module.Labels)
	maps.Copy(template.Annotations, module.Annotations)
	template.Labels[shared.LabelModuleName] = module.ModuleName
	if module.Beta {
		template.Labels[shared.LabelBeta] = shared.ValueTrue
	}
	if module.Internal {
		template.Labels[shared.LabelInternal] = shared.ValueTrue
	}
	if module.ClusterScoped {
		template.Annotations[shared.AnnotationIsClusterScoped] = shared.ValueTrue
	}
	return template
}
