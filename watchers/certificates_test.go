package watchers

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/authority"
)

func TestTheCertificatesWorkflowIsStartedIfItIsNotRunning(t *testing.T) {
	server := &mocks.Client{}
	server.On("ExecuteWorkflow", mock.Anything, mock.MatchedBy(func(o temporal.StartWorkflowOptions) bool {
		return o.ID == kick.CertificatesWorkflowID && o.TaskQueue == kick.ControlPlaneQueue &&
			o.WorkflowIDConflictPolicy == enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	}), kick.CertificatesWorkflow, authority.Input{}).Return(&mocks.WorkflowRun{}, nil).Once()
	require.NoError(t, TemporalCertificates{server}.EnsureCertificates(t.Context()))
	server.AssertExpectations(t)

	server.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil, errors.New("no connection"))
	require.ErrorContains(t, TemporalCertificates{server}.EnsureCertificates(t.Context()), "no connection")
}
