package preflight

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

const (
	// OwnerWorkflow is the id of the workflow that records the owner of a Temporal namespace. It never does anything:
	// its first task is a hundred years away, and no worker polls its queue. Temporal keeps it as long as the
	// namespace, allows only one workflow with this id, and requires no other right than to start workflows.
	OwnerWorkflow = "lifecycle-manager-instance"
	ownerType     = "LifecycleManagerInstance"
	ownerQueue    = "lifecycle-manager-instance"
	ownerDelay    = 100 * 365 * 24 * time.Hour
	memoOwner     = "owner"
)

// Owner is the instance that a Temporal namespace belongs to.
type Owner struct {
	// ControlPlane is the uid of the control plane's namespace kube-system.
	ControlPlane string `json:"controlPlane"`
	// Instance is the name of the instance in that control plane (--managed-by).
	Instance string `json:"instance"`
	// Namespace is the namespace of the instance's settings and Lease. It distinguishes two releases of the same name.
	// It is empty if unknown, as in registrations of earlier builds.
	Namespace string `json:"namespace,omitempty"`
}

// String returns the owner for people.
func (o Owner) String() string {
	name := fmt.Sprintf("%s of the control plane whose kube-system has the uid %s", o.Instance, o.ControlPlane)
	if o.Namespace == "" {
		return name
	}
	return name + ", in its namespace " + o.Namespace
}

// Is reports whether both are the same instance, as far as is known.
func (o Owner) Is(other Owner) bool {
	return o.ControlPlane == other.ControlPlane && o.Instance == other.Instance &&
		(o.Namespace == other.Namespace || o.Namespace == "" || other.Namespace == "")
}

// Workflows holds the methods of a Temporal client that claim a namespace.
type Workflows interface {
	ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error)
	DescribeWorkflow(ctx context.Context, workflowID, runID string) (*client.WorkflowExecutionDescription, error)
}

// OwnedError reports that a Temporal namespace belongs to another instance.
type OwnedError struct {
	Namespace string
	Owner     Owner
	Since     time.Time
}

// Error implements error.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("the Temporal namespace %s belongs to another instance (since %s): %s", e.Namespace, e.Since.UTC().Format(time.RFC3339), e.Owner)
}

// Remedy returns what can be done about the error.
func (e *OwnedError) Remedy() string {
	return fmt.Sprintf("give this instance a Temporal namespace of its own (TEMPORAL_NAMESPACE); only if the other instance no longer exists, run: temporal workflow terminate --namespace %s --workflow-id %s",
		e.Namespace, OwnerWorkflow)
}

// Claim makes a Temporal namespace the owner's. It returns an OwnedError if the namespace belongs to another instance.
func Claim(ctx context.Context, temporal Workflows, namespace string, owner Owner) error {
	_, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: OwnerWorkflow, TaskQueue: ownerQueue, StartDelay: ownerDelay, WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:          map[string]any{memoOwner: owner},
		StaticSummary: "This namespace belongs to " + owner.String(),
		StaticDetails: "This workflow never runs. It keeps other instances of Lifecycle Manager from working in this namespace. Terminate it when this instance no longer exists.",
	}, ownerType)
	if err == nil {
		return nil
	}
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	if !errors.As(err, &exists) {
		return fmt.Errorf("register this instance in the Temporal namespace %s: %w", namespace, err)
	}
	found, since, err := OwnerOf(ctx, temporal)
	if err != nil {
		return err
	}
	if found != nil && !found.Is(owner) {
		return &OwnedError{Namespace: namespace, Owner: *found, Since: since}
	}
	return nil
}

// OwnerOf returns the owner of the namespace and since when it has it; nil if there is no owner.
func OwnerOf(ctx context.Context, temporal Workflows) (*Owner, time.Time, error) {
	described, err := temporal.DescribeWorkflow(ctx, OwnerWorkflow, "")
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return nil, time.Time{}, nil
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the owner of the Temporal namespace: %w", err)
	}
	info := described.RawResponse.GetWorkflowExecutionInfo()
	if info.GetCloseTime() != nil {
		return nil, time.Time{}, nil
	}
	owner, err := ownerIn(info.GetMemo())
	return owner, info.GetStartTime().AsTime(), err
}

func ownerIn(memo *commonpb.Memo) (*Owner, error) {
	owner := &Owner{}
	if err := converter.GetDefaultDataConverter().FromPayload(memo.GetFields()[memoOwner], owner); err != nil {
		return nil, fmt.Errorf("read the owner of the Temporal namespace in the memo of workflow %s: %w", OwnerWorkflow, err)
	}
	return owner, nil
}
