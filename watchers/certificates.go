package watchers

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/authority"
)

// CertificatesStarter makes sure that the workflow runs that rotates the authorities of agents' certificates.
type CertificatesStarter interface {
	EnsureCertificates(ctx context.Context) error
}

// TemporalCertificates starts the workflow that rotates the authorities of agents' certificates.
type TemporalCertificates struct {
	Temporal temporal.Client
}

// EnsureCertificates starts the workflow where it does not run.
func (t TemporalCertificates) EnsureCertificates(ctx context.Context) error {
	options := temporal.StartWorkflowOptions{
		ID:                       kick.CertificatesWorkflowID,
		TaskQueue:                kick.ControlPlaneQueue,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "authorities of agents' certificates",
	}
	if _, err := t.Temporal.ExecuteWorkflow(ctx, options, kick.CertificatesWorkflow, authority.Input{}); err != nil {
		return fmt.Errorf("start the workflow of certificates: %w", err)
	}
	return nil
}
