package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
)

// LabelRestart on the pods of an agent identifies the certificate that they were started with, for pods that read
// their certificate only when they start. Upstream uses a label with this name for the same purpose.
const LabelRestart = shared.OperatorGroup + "/pod-restart-trigger"

// ensureStartedWith makes the agent's Deployment replace pods that were started with another certificate, and returns
// the number of writes. The label is not part of what the agent's Manifest applies, so an apply keeps it. Before the
// Manifest has applied the Deployment, ensureStartedWith does nothing, because that apply replaces the pods anyway.
func ensureStartedWith(ctx context.Context, remote client.Client, namespace string, certificate []byte) (int, error) {
	key := types.NamespacedName{Namespace: namespace, Name: shared.AgentName}
	found := &appsv1.Deployment{}
	err := remote.Get(ctx, key, found)
	if err != nil {
		return 0, client.IgnoreNotFound(fmt.Errorf("read Deployment %s: %w", key, err))
	}
	sum := sha256.Sum256(certificate)
	startedWith := hex.EncodeToString(sum[:16])
	if inventory.OwnEntry(found.ManagedFields) == nil || found.Spec.Template.Labels[LabelRestart] == startedWith {
		return 0, nil
	}
	before := found.DeepCopy()
	metav1.SetMetaDataLabel(&found.Spec.Template.ObjectMeta, LabelRestart, startedWith)
	if err := remote.Patch(ctx, found, client.MergeFrom(before), client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		return 0, fmt.Errorf("restart the pods of Deployment %s for a new certificate: %w", key, err)
	}
	return 1, nil
}
