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

// Temporal is what a start asks of Temporal; a Temporal client is one.
type Temporal interface {
	Workflows
	WorkflowService() workflowservice.WorkflowServiceClient
}

// Starting is a process that is about to start.
type Starting struct {
	ControlPlane client.Client
	Schemas      openapi.Client
	Temporal     Temporal
	// Namespace is that of Temporal.
	Namespace string
	// Instance is the name of the instance in its control plane, Release the namespace of its record, whoever writes it.
	Instance, Release string
	// Record is where its settings are recorded; empty for a process that only reads them.
	Record types.NamespacedName
	// DefinitionsWithin is how long to wait for CustomResourceDefinitions that are missing or older: an API server
	// publishes what was just applied a moment later.
	DefinitionsWithin time.Duration
}

// RefusedError says why a process does not start.
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

// Start refuses, as a RefusedError, what can only go wrong later: CustomResourceDefinitions that are missing or older than
// this build, a namespace that is missing in the control plane or in Temporal, and a Temporal namespace that another
// instance works in. Otherwise the Temporal namespace is this instance's from then on.
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
		return fmt.Errorf("find out which control plane this is: %w", err)
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

// missingNamespace is what is wrong where the settings of the instance cannot be recorded for lack of a namespace. Whether
// it is there is asked by creating the record without doing so, since that right is needed anyway; who lacks it is told so
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
	missing := bad("namespace "+record.Namespace, "kubectl create namespace "+record.Namespace, "the namespace %s, in which the settings of this instance are recorded, is missing in the control plane", record.Namespace)
	return &missing
}

// describedNamespace is what Temporal says of a namespace.
type describedNamespace struct {
	retention time.Duration
	err       error
}

func describeNamespace(ctx context.Context, temporal Temporal, namespace string) describedNamespace {
	described, err := temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	return describedNamespace{retention: described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), err: err}
}

// judgeNamespace says whether the Temporal namespace is there. One that may not be asked for may be there.
func judgeNamespace(namespace string, described describedNamespace) Finding {
	const subject = "Temporal namespace"
	var missing *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	switch {
	case errors.As(described.err, &missing):
		return bad(subject, "temporal operator namespace create --namespace "+namespace+" --retention 72h", "the namespace %s is missing in Temporal", namespace)
	case errors.As(described.err, &denied):
		return doubtful(subject, "", "%s: it may not be described", namespace)
	case described.err != nil:
		return bad(subject, "", "%s: %s", namespace, described.err)
	case described.retention < time.Hour:
		return doubtful(subject, "temporal operator namespace update --namespace "+namespace+" --retention 72h", "%s keeps ended workflows for %s only: their histories are gone when somebody asks for them", namespace, described.retention)
	}
	return good(subject, "%s, ended workflows are kept for %s", namespace, described.retention)
}

// listed are texts in a sentence.
func listed(texts []string) string { return strings.Join(texts, ", ") }
