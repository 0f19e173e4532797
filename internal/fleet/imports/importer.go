// Package imports copies user-provided ModuleTemplates of remote clusters into the control plane for the modules that
// request them (Importer.Import). It enforces limits of number and size, and accepts allowed registries only.
package imports

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lately"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// ReasonNotImported: a user-provided template of the remote cluster could not be imported.
const ReasonNotImported = "RemoteTemplateNotImported"

// reportedTemplates is the number of user-provided templates that reported remembers.
const reportedTemplates = 8192

// reported remembers the last reported version of each template, so that the sweep does not report an unusable template
// in each pass.
type reported struct {
	versions *lately.Cache[string, string]
}

// once reports whether the version differs from the version in the last call.
func (n *reported) once(name, version string) bool {
	last, known := n.versions.Peek(name)
	n.versions.Add(name, version)
	return !known || last != version
}

// Importer imports templates from remote clusters.
type Importer struct {
	settings     desired.Settings
	controlPlane client.Client
	catalog      client.Reader
	registries   artifacts.Registries
	reported     *reported
}

// New returns an Importer that accepts only templates with layers in registries on these hosts.
func New(settings desired.Settings, controlPlane client.Client, cache client.Reader, hosts []string) (*Importer, error) {
	allowed, err := artifacts.NewRegistries(hosts)
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	reported := &reported{lately.New[string, string](reportedTemplates)}
	return &Importer{settings: settings, controlPlane: controlPlane, catalog: cache, registries: allowed, reported: reported}, nil
}

// controlPlaneFault returns the fault of a failed request to the control plane, which says nothing about the remote
// cluster.
func controlPlaneFault(what string, err error) error {
	return fault.New(fault.Transient, ReasonNotImported, "%s: %w", what, err)
}
