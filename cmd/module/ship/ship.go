// Package ship turns a module's folder into an OCM component version, and into the ModuleTemplate and ModuleReleaseMeta
// that announce it to a control plane. It is the library behind the commands create and push.
package ship

import (
	"errors"
	"fmt"
	"os"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/module/component"
	"github.com/kyma-project/lifecycle-manager/cmd/module/lint"
	"github.com/kyma-project/lifecycle-manager/cmd/module/template"
)

// DefaultKubeVersion is the default version of Kubernetes to render charts for.
const DefaultKubeVersion = "v1.36.1"

// DescriptorForm says how the ModuleTemplate refers to the component descriptor.
type DescriptorForm string

// Forms of the descriptor.
const (
	// DescriptorEmbedded puts the stored descriptor into the ModuleTemplate.
	DescriptorEmbedded DescriptorForm = "embedded"
	// DescriptorNone leaves the descriptor empty: the server fetches it from the registry
	// (docs/contract.md#generations).
	DescriptorNone DescriptorForm = "none"
)

// Errors of a request.
var (
	// ErrDescriptorForm means that a descriptor form is unknown.
	ErrDescriptorForm = errors.New("unknown descriptor form")
	// ErrArchiveExists means that the folder for an archive already exists.
	ErrArchiveExists = errors.New("the archive already exists")
)

// Request says which module to ship, and how.
type Request struct {
	// Path of the module's folder or configuration file.
	Path string
	// Channels in addition to the channels in the configuration: NAME or NAME=VERSION.
	Channels []string
	// Descriptor is the descriptor form. Empty means DescriptorEmbedded.
	Descriptor DescriptorForm
	// KubeVersion to render charts for. Empty means DefaultKubeVersion.
	KubeVersion string
	// Signing signs the component version. Nil leaves it unsigned.
	Signing *component.Signing
}

// Result describes a shipped module. After an error, only Report may be set.
type Result struct {
	Report   lint.Report
	Version  component.Version
	Template v1beta2.ModuleTemplate
	// Release is nil if the module has no channels and is not mandatory.
	Release *v1beta2.ModuleReleaseMeta
	// Written is false if the registry already had the same content.
	Written bool
}

// Create writes the component version into an archive in a new folder.
func Create(request Request, archive string) (Result, error) {
	if _, err := os.Lstat(archive); err == nil {
		return Result{}, fmt.Errorf("%w: %s", ErrArchiveExists, archive)
	}
	return run(request, func(version component.Version) (component.Outcome, error) {
		descriptor, err := component.WriteArchive(archive, version)
		return component.Outcome{Descriptor: descriptor, Written: true}, err
	})
}

// Push writes the component version into a registry. Pushing the same content again is not an error. If the version
// exists with different content, Push returns component.ErrVersionExists unless overwrite is true.
func Push(request Request, registry component.Registry, overwrite bool) (Result, error) {
	return run(request, func(version component.Version) (component.Outcome, error) {
		return registry.Push(version, overwrite)
	})
}

func run(request Request, store func(component.Version) (component.Outcome, error)) (Result, error) {
	switch request.Descriptor {
	case "":
		request.Descriptor = DescriptorEmbedded
	case DescriptorEmbedded, DescriptorNone:
	default:
		return Result{}, fmt.Errorf("%w %q: use embedded or none", ErrDescriptorForm, request.Descriptor)
	}
	if request.KubeVersion == "" {
		request.KubeVersion = DefaultKubeVersion
	}
	module, report := lint.Check(request.Path, lint.Options{KubeVersion: request.KubeVersion})
	result := Result{Report: report}
	if err := report.Err(); err != nil {
		return result, fmt.Errorf("module %s: %w", request.Path, err)
	}
	channels := append(append([]string{}, module.Config.Channels...), request.Channels...)
	release, err := template.ModuleReleaseMeta(module.Config, channels)
	if err != nil {
		return result, err
	}
	result.Version = component.Version{
		Name: module.Config.Name, Version: module.Config.Version, Provider: module.Config.Provider,
		Layers: module.Content.Layers, Signing: request.Signing,
	}
	outcome, err := store(result.Version)
	if err != nil {
		return result, err
	}
	descriptor := []byte("{}")
	if request.Descriptor == DescriptorEmbedded {
		if descriptor, err = outcome.Descriptor.JSON(); err != nil {
			return result, err
		}
	}
	result.Template = template.ModuleTemplate(module.Config, descriptor, module.DefaultCR)
	if request.Signing != nil {
		// Because of the label, the server refuses a descriptor without the signature.
		result.Template.Labels[shared.LabelSignature] = request.Signing.Name
	}
	result.Release = release
	result.Written = outcome.Written
	return result, nil
}
