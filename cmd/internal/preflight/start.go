package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// Temporal holds the methods of a Temporal client that a start uses.
type Temporal interface {
	Workflows
	WorkflowService() workflowservice.WorkflowServiceClient
}

// Starting is a process that is about to start.
type Starting struct {
	ControlPlane client.Client
	Schemas      openapi.Client
	Temporal     Temporal
	// Namespace is the Temporal namespace.
	Namespace string
	// Instance is the name of the instance in its control plane. Release is the namespace of its record, whichever
	// process writes it.
	Instance, Release string
	// Record is the record of the instance's settings; empty for a process that only reads it.
	Record types.NamespacedName
	// DefinitionsWithin is how long to wait for missing or older CustomResourceDefinitions, because an API server
	// publishes applied definitions a moment later.
	DefinitionsWithin time.Duration
}

// RefusedError is why a process does not start.
type RefusedError struct{ Findings []Finding }

// Error implements error.
func (e *RefusedError) Error() string {
	said := make([]string, 0, len(e.Findings))
	for _, finding := range e.Findings {
		text := finding.Message
		if finding.Remedy != "" {
			text += " (" + finding.Remedy + ")"
		}
		said = append(said, text)
	}
	return "not started: " + strings.Join(said, "; ")
}

// Start returns a RefusedError if the process could only fail later: CustomResourceDefinitions are missing or older
// than this build, a namespace is missing in the control plane or in Temporal, or another instance works in the
// Temporal namespace. Otherwise Start claims the Temporal namespace for this instance.
func Start(ctx context.Context, s Starting) error {
	if refused := judgeNamespace(s.Namespace, describeNamespace(ctx, s.Temporal, s.Namespace)); refused.Result == Failed {
		return &RefusedError{Findings: []Finding{refused}}
	}
	if refused := missingNamespace(ctx, s.ControlPlane, s.Record); refused != nil {
		return &RefusedError{Findings: []Finding{*refused}}
	}
	if err := s.awaitDefinitions(ctx); err != nil {
		return err
	}
	uid, err := clusters.UIDOf(ctx, s.ControlPlane)
	if err != nil {
		return fmt.Errorf("read the identity of the control plane: %w", err)
	}
	err = Claim(ctx, s.Temporal, s.Namespace, Owner{ControlPlane: string(uid), Instance: s.Instance, Namespace: s.Release})
	var owned *OwnedError
	if errors.As(err, &owned) {
		return &RefusedError{Findings: []Finding{bad("Temporal namespace", owned.Remedy(), "%s", owned)}}
	}
	return err
}

func (s Starting) awaitDefinitions(ctx context.Context) error {
	var findings []Finding
	err := wait.PollUntilContextTimeout(ctx, time.Second, s.DefinitionsWithin, true, func(context.Context) (bool, error) {
		published, err := ReadPublished(s.Schemas)
		if err != nil {
			return false, err
		}
		findings = judgeDefinitions(published, nil)
		return findings[0].Result == OK, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return &RefusedError{Findings: findings}
	}
	return err
}

// missingNamespace returns a finding if the settings of the instance cannot be recorded because a namespace is missing.
// It checks by a dry-run creation of the record, because that right is needed anyway. A missing right is reported
// later, with the reason.
func missingNamespace(ctx context.Context, controlPlane client.Client, record types.NamespacedName) *Finding {
	if record.Name == "" {
		return nil
	}
	try := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Name}}
	err := controlPlane.Create(ctx, try, client.DryRunAll)
	if !apierrors.IsNotFound(err) {
		return nil
	}
	missing := bad("namespace "+record.Namespace, "kubectl create namespace "+record.Namespace, "the namespace %s for the settings of this instance is missing in the control plane", record.Namespace)
	return &missing
}

// describedNamespace is Temporal's description of a namespace.
type describedNamespace struct {
	retention time.Duration
	err       error
}

func describeNamespace(ctx context.Context, temporal Temporal, namespace string) describedNamespace {
	described, err := temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	return describedNamespace{retention: described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), err: err}
}

// judgeNamespace returns whether the Temporal namespace exists. A namespace that may not be described may exist.
func judgeNamespace(namespace string, described describedNamespace) Finding {
	const subject = "Temporal namespace"
	var missing *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	switch {
	case errors.As(described.err, &missing):
		return bad(subject, "temporal operator namespace create --namespace "+namespace+" --retention 72h", "the namespace %s is missing in Temporal", namespace)
	case errors.As(described.err, &denied):
		return doubtful(subject, "", "%s: this client may not describe it", namespace)
	case described.err != nil:
		return bad(subject, "", "%s: %s", namespace, described.err)
	case described.retention < time.Hour:
		return doubtful(subject, "temporal operator namespace update --namespace "+namespace+" --retention 72h", "%s keeps closed workflows for only %s, so their histories are soon gone", namespace, described.retention)
	}
	return good(subject, "%s, keeps closed workflows for %s", namespace, described.retention)
}

// listed joins texts for a sentence.
func listed(texts []string) string { return strings.Join(texts, ", ") }
