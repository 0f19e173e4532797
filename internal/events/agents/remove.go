package agents

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// objects returns all objects that releases of upstream have created in remote clusters. The webhook comes first, so
// that it is never called while its Service no longer exists.
func objects() []agent.Leftover {
	core, networking := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"}
	return append([]agent.Leftover{
		{GVK: schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}.WithKind("ValidatingWebhookConfiguration"), Name: shared.AgentName},
		{GVK: schema.GroupVersion{Group: "apps", Version: "v1"}.WithKind("Deployment"), Name: shared.AgentName, Namespaced: true},
		{GVK: core.WithKind("Service"), Name: shared.AgentName, Namespaced: true},
		{GVK: core.WithKind("Service"), Name: shared.AgentMetricsService, Namespaced: true},
		{GVK: core.WithKind("Secret"), Name: shared.AgentSecret, Namespaced: true},
		{GVK: networking.WithKind("NetworkPolicy"), Name: shared.AgentPolicyWebhook, Namespaced: true},
		{GVK: networking.WithKind("NetworkPolicy"), Name: shared.AgentPolicyEvents, Namespaced: true},
		{GVK: networking.WithKind("NetworkPolicy"), Name: shared.AgentPolicyMetrics, Namespaced: true},
		{GVK: networking.WithKind("NetworkPolicy"), Name: shared.AgentPolicyDNS, Namespaced: true},
		{GVK: schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1"}.WithKind("PriorityClass"), Name: shared.AgentPriorityClass},
	}, agent.Leftovers()...)
}

// IsLeft reports whether upstream had set up its agent for a Kyma and the agent has not been removed since. While
// events are off, nobody else writes this condition. It is removed after everything was deleted.
func IsLeft(kyma *v1beta2.Kyma) bool {
	return meta.FindStatusCondition(kyma.Status.Conditions, string(shared.ConditionSKRWebhook)) != nil
}

// RemoveRemote removes the agent from a remote cluster; namespace is the remote Kyma's namespace. It deletes only
// objects with upstream's label, and returns how many it deleted.
func RemoveRemote(ctx context.Context, remote client.Client, namespace string) (int, error) {
	deleted := 0
	for _, o := range objects() {
		key := types.NamespacedName{Name: o.Name}
		if o.Namespaced {
			key.Namespace = namespace
		}
		found, err := remove(ctx, remote, o.GVK, key, func(live *metav1.PartialObjectMetadata) bool {
			return live.Labels[shared.LabelManagedBy] == shared.ManagedByKyma
		})
		if err != nil {
			return deleted, err
		}
		if found {
			deleted++
		}
	}
	return deleted, nil
}

// RemoveCertificate removes the certificate of a Kyma's agent from a namespace of the control plane: first the
// Certificates that would create its Secret again, then the Secret. The name identifies the Kyma's name, and our
// label identifies its namespace.
func RemoveCertificate(ctx context.Context, controlPlane client.Client, namespace string, kyma types.NamespacedName) error {
	key := types.NamespacedName{Namespace: namespace, Name: desired.CertificateName(kyma.Name)}
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
		{Group: "cert.gardener.cloud", Version: "v1alpha1", Kind: "Certificate"},
		{Version: "v1", Kind: "Secret"},
	} {
		if _, err := remove(ctx, controlPlane, gvk, key, func(live *metav1.PartialObjectMetadata) bool {
			of, known := live.Labels[certificates.LabelKymaNamespace]
			return !known || of == kyma.Namespace
		}); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object, with its uid as a precondition, if it exists and such returns true for it.
func remove(
	ctx context.Context, c client.Client, gvk schema.GroupVersionKind, key types.NamespacedName, such func(*metav1.PartialObjectMetadata) bool,
) (bool, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(gvk)
	err := c.Get(ctx, key, live)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %s of upstream's agent: %w", gvk.Kind, key, err)
	}
	if !such(live) || !live.DeletionTimestamp.IsZero() {
		return false, nil
	}
	err = c.Delete(ctx, live, client.Preconditions{UID: &live.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("delete %s %s of upstream's agent: %w", gvk.Kind, key, err)
	}
	return true, nil
}
