package kick

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"k8s.io/apimachinery/pkg/types"
)

// Counter counts the sent kicks by reason. The Sender knows nothing else of metrics.
type Counter interface {
	KickSent(reason string)
}

// Sender delivers kicks to the workflows of entities.
type Sender struct {
	temporal client.Client
	counter  Counter
	tenants  Tenants
}

// NewSender returns a Sender that uses the given Temporal client. Without a counter (nil) nothing is counted; without
// tenants (nil) all Kymas belong to one tenant.
func NewSender(server client.Client, counter Counter, tenants Tenants) *Sender {
	return &Sender{temporal: server, counter: counter, tenants: tenants}
}

// Kyma wakes the workflow of a Kyma, and starts it if none is open.
func (s *Sender) Kyma(ctx context.Context, ref Ref, k Kick) error {
	return s.signalWithStart(ctx, KymaWorkflowID(ref), KymaWorkflow, ref, k, Attributes{AttributeKymaName: ref.Name})
}

// Manifest asks the workflow of a Kyma for a step of one of its Manifests, and starts the workflow if none is open.
func (s *Sender) Manifest(ctx context.Context, kyma, manifest Ref, k Kick) error {
	k.Work, k.Namespace, k.Name, k.UID = true, manifest.Namespace, manifest.Name, manifest.UID
	return s.Kyma(ctx, kyma, k)
}

// Watcher wakes the workflow of a Watcher, and starts it if none is open.
func (s *Sender) Watcher(ctx context.Context, ref Ref, k Kick) error {
	return s.signalWithStart(ctx, WatcherWorkflowID(ref), WatcherWorkflow, ref, k, nil)
}

// Rollout wakes the workflow of a ModuleRollout, and starts it if none is open.
func (s *Sender) Rollout(ctx context.Context, ref Ref, k Kick) error {
	return s.signalWithStart(ctx, RolloutWorkflowID(ref), RolloutWorkflow, ref, k, nil)
}

// OpenKyma wakes the workflow of a Kyma if it is open. Otherwise the kick counts as delivered, because the next
// workflow begins with a reconcile.
func (s *Sender) OpenKyma(ctx context.Context, ref Ref, k Kick) error {
	return s.SignalOpen(ctx, KymaWorkflowID(ref), k)
}

// SignalOpen wakes the open run of the workflow with this id. If none is open, the kick counts as delivered.
func (s *Sender) SignalOpen(ctx context.Context, workflowID string, k Kick) error {
	err := s.temporal.SignalWorkflow(ctx, workflowID, "", Signal, k)
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return nil
	}
	if err != nil {
		return fmt.Errorf("signal workflow %s: %w", workflowID, err)
	}
	s.count(k)
	return nil
}

func (s *Sender) signalWithStart(ctx context.Context, id, workflow string, ref Ref, k Kick, found Attributes) error {
	options := client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                ControlPlaneQueue,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            ref.String(),
		TypedSearchAttributes:    found.typed(),
		Priority:                 temporal.Priority{FairnessKey: fairnessKey(s.tenantOf(ctx, ref, found))},
	}
	_, err := s.temporal.SignalWithStartWorkflow(ctx, id, Signal, k, options, workflow, Start{Ref: ref})
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok && options.TypedSearchAttributes.Size() > 0 {
		// A server that does not know a search attribute (yet, or any more) refuses the start. Start the workflow
		// without its search attributes: it upserts them itself with its first report.
		options.TypedSearchAttributes = Attributes{}.typed()
		_, err = s.temporal.SignalWithStartWorkflow(ctx, id, Signal, k, options, workflow, Start{Ref: ref})
	}
	if err != nil {
		return fmt.Errorf("kick workflow %s: %w", id, err)
	}
	s.count(k)
	return nil
}

// tenantOf returns the tenant of the Kyma that is kicked.
func (s *Sender) tenantOf(ctx context.Context, ref Ref, found Attributes) string {
	name := found[AttributeKymaName]
	if s.tenants == nil || name == "" {
		return ""
	}
	return s.tenants(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: name})
}

func (s *Sender) count(k Kick) {
	if s.counter != nil {
		s.counter.KickSent(k.Reason)
	}
}
