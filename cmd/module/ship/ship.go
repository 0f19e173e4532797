// Package ship turns a module's folder into a component version and the
// resources that announce it: what the commands create and push do, as a
// library.
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

// DefaultKubeVersion is the version of Kubernetes that charts are rendered for
// where none is given.
const DefaultKubeVersion = "v1.36.1"

// DescriptorForm says what the ModuleTemplate holds as its descriptor.
type DescriptorForm string

// Forms of the descriptor.
const (
	// DescriptorEmbedded puts the descriptor as stored into the ModuleTemplate.
	DescriptorEmbedded DescriptorForm = "embedded"
	// DescriptorNone leaves it empty: it is fetched from the registry (docs/contract.md#generations).
	DescriptorNone DescriptorForm = "none"
)

// Errors of a request.
var (
	// ErrDescriptorForm says that a descriptor form is not known.
	ErrDescriptorForm = errors.New("unknown descriptor form")
	// ErrArchiveExists says that the folder for an archive is there already.
	ErrArchiveExists = errors.New("the archive exists")
)

// Request says which module to ship, and how.
type Request struct {
	// Path of the module's folder or configuration file.
	Path string
	// Channels in addition to those of the configuration: NAME or NAME=VERSION.
	Channels []string
	// Descriptor form; embedded if empty.
	Descriptor DescriptorForm
	// KubeVersion that charts are rendered for; DefaultKubeVersion if empty.
	KubeVersion string
	// Signing says how the component version is signed; nil leaves it unsigned.
	Signing *component.Signing
}

// Result is what was shipped. After an error only the report may be filled.
type Result struct {
	Report   lint.Report
	Version  component.Version
	Template v1beta2.ModuleTemplate
	// Release is nil where the module has no channels and is not mandatory.
	Release *v1beta2.ModuleReleaseMeta
	// Written is false where a push found the same content in the registry.
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

// Push writes the component version into a registry. It may be repeated; other
// content for an existing version gives component.ErrVersionExists unless
// overwrite is set.
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
		return Result{}, fmt.Errorf("%w %q: embedded and none are known", ErrDescriptorForm, request.Descriptor)
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
		// The label keeps a descriptor without the signature from being accepted.
		result.Template.Labels[shared.LabelSignature] = request.Signing.Name
	}
	result.Release = release
	result.Written = outcome.Written
	return result, nil
}
