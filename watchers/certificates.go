package watchers

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/authority"
)

// CertificatesStarter keeps the workflow running that rotates the authorities of agents' certificates.
type CertificatesStarter interface {
	EnsureCertificates(ctx context.Context) error
}

// TemporalCertificates starts the workflow that rotates the authorities of agents' certificates.
type TemporalCertificates struct {
	Temporal temporal.Client
}

// EnsureCertificates starts the workflow if it is not running.
func (t TemporalCertificates) EnsureCertificates(ctx context.Context) error {
	options := temporal.StartWorkflowOptions{
		ID:                       kick.CertificatesWorkflowID,
		TaskQueue:                kick.ControlPlaneQueue,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "authorities of agents' certificates",
	}
	if _, err := t.Temporal.ExecuteWorkflow(ctx, options, kick.CertificatesWorkflow, authority.Input{}); err != nil {
		return fmt.Errorf("start the certificates workflow: %w", err)
	}
	return nil
}
