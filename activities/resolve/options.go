package resolve

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
)

// DescriptorSource fetches component descriptors that are not embedded in a ModuleTemplate.
type DescriptorSource interface {
	// FetchDescriptor returns the descriptor of a component version as it is stored in the registry
	// (`<repository>/component-descriptors/<component>:<version>`). What cannot succeed without a change
	// (not there, not readable) is a fault.Rejected error. It caches.
	FetchDescriptor(ctx context.Context, repository, component, version string) ([]byte, error)
}

// Options are what the activities need.
type Options struct {
	// Settings are the instance's flags.
	Settings desired.Settings
	// ControlPlane reads and writes the control plane, uncached.
	ControlPlane client.Client
	// Catalog reads ModuleTemplates, ModuleReleaseMetas and the metadata of Secrets from a cache on which
	// desired.RegisterIndexes was called.
	Catalog client.Reader
	// Descriptors fetches descriptors that are not embedded.
	Descriptors DescriptorSource
}

// Activities are the activities of this package.
type Activities struct {
	settings     desired.Settings
	controlPlane client.Client
	planner      *Planner
}

// New returns the activities.
func New(options Options) (*Activities, error) {
	if options.ControlPlane == nil {
		return nil, errors.New("resolve: no control plane client")
	}
	planner, err := NewPlanner(options)
	if err != nil {
		return nil, err
	}
	return &Activities{
		settings:     options.Settings.WithDefaults(),
		controlPlane: options.ControlPlane,
		planner:      planner,
	}, nil
}
