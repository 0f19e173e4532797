package background

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// ReportModulesInput holds the observed states of modules, and the input for the status of their Kyma.
type ReportModulesInput struct {
	Modules []manifests.ReportInput `json:"modules"`
	Kyma    status.ReportInput      `json:"kyma"`
}

// ReportModulesResult is what was written.
type ReportModulesResult struct {
	// Modules are in the order of the input.
	Modules []ModuleReported    `json:"modules"`
	Kyma    status.ReportResult `json:"kyma"`
}

// ModuleReported is what was written for one module, or the fault that prevented it.
type ModuleReported struct {
	manifests.ReportResult
	Fault fault.Fault `json:"fault,omitzero"`
}

// ReportModules writes the observed states of modules into the statuses of their Manifests, and then the status of the
// Kyma that shows them. It returns an error only if the Kyma's status could not be written.
func (a *Activities) ReportModules(ctx context.Context, in ReportModulesInput) (ReportModulesResult, error) {
	var result ReportModulesResult
	for _, module := range in.Modules {
		wrote, err := a.installer.ReportManifest(ctx, module)
		result.Modules = append(result.Modules, ModuleReported{ReportResult: wrote, Fault: fault.Of(err)})
		if k := wrote.Kick; k != nil {
			in.Kyma.Seen = append(in.Kyma.Seen, seen(*k))
		}
		in.Kyma.ManifestGone = in.Kyma.ManifestGone || wrote.Outcome == manifests.OutcomeGone
	}
	var err error
	result.Kyma, err = a.statuses.ReportKyma(ctx, in.Kyma)
	return result, err
}

// seen returns the version of the object that a kick is about.
func seen(k kick.Kick) desired.Seen {
	return desired.Seen{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, ResourceVersion: k.ResourceVersion}
}
