package install

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// ReasonDefaultCRRetried: the default custom resource could not be created, and a retry may succeed.
const ReasonDefaultCRRetried = "DefaultCRRetried"

// EnsureDefaultCR creates the default custom resource, or adopts the existing one, once. It records the intent before and
// the uid afterwards. After a crash, a record without a uid means: read the object, then adopt or create it. If the
// object with the recorded uid is gone, its user deleted it, and it stays deleted unless the Manifest says otherwise.
//
// EnsureDefaultCR returns what it wrote into the status.
func (a *Activities) EnsureDefaultCR(ctx context.Context, in WaitInput) (WaitResult, error) {
	ctx, news := manifests.Noting(ctx)
	observed, err := a.ensureDefaultCR(ctx, in)
	return WaitResult{Observed: observed, News: *news}, err
}

func (a *Activities) ensureDefaultCR(ctx context.Context, in WaitInput) (readiness.Observed, error) {
	m, err := a.steps.Read(ctx, in.Ref)
	if err != nil {
		return readiness.Observed{}, err
	}
	if m == nil || !m.IsMaintained() {
		return manifests.BeingDeleted(), nil
	}
	isPlanned, err := a.steps.IsPlanned(ctx, m)
	if err != nil {
		return readiness.Observed{}, err
	}
	if !isPlanned {
		return readiness.Observed{}, fault.New(fault.Transient, manifests.ReasonNotPlanned, "Manifest %s changed during the creation of its default custom resource", inventory.MarkOf(m))
	}
	wanted, err := readiness.DefaultCROf(m)
	if err != nil {
		return readiness.Observed{}, err
	}
	observed := in.Reported
	observed.DefaultCRWanted = false
	if wanted == nil {
		return observed, nil
	}
	if recorded := m.Status.DefaultCR; recorded != nil && recorded.UID != "" && !readiness.RecreatesDefaultCR(m) {
		// An earlier attempt got this far. The next reconcile checks whether the object exists.
		return pendingCR(observed, recorded), nil
	}
	cluster, err := a.steps.Target(ctx, m)
	if err != nil {
		return readiness.Observed{}, err
	}
	resource, err := cluster.Mapper.Resource(ctx, wanted.GroupVersionKind())
	if err != nil {
		return readiness.Observed{}, retryCR(wanted, err)
	}
	bundle.Place(wanted, resource, a.steps.RemoteNamespace(m))
	// Record the object before creating it, so that a crash cannot hide which object was meant.
	_, err = a.steps.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) { s.DefaultCR = inventory.RecordOf(wanted, "") })
	if err != nil {
		return readiness.Observed{}, err
	}
	live, err := createOrAdopt(ctx, cluster, resource, wanted)
	if err != nil {
		return readiness.Observed{}, err
	}
	recorded := inventory.RecordOf(live, string(live.GetUID()))
	observed = pendingCR(observed, recorded)
	before := m.Status.State
	err = a.steps.RecordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		s.DefaultCR = recorded
		manifests.SetObserved(m, s, observed, a.steps.Now())
	})
	if errors.Is(err, manifests.ErrChanged) {
		return manifests.BeingDeleted(), nil
	}
	if err == nil && before != m.Status.State {
		manifests.Changed(ctx, m)
	}
	return observed, err
}

func pendingCR(observed readiness.Observed, recorded *v1beta2.DefaultCRRecord) readiness.Observed {
	gvk, name := inventory.RecordedCR(recorded)
	observed.State, observed.Reason = shared.StateProcessing, readiness.ReasonModuleCRPending
	observed.Message = "waiting for " + objects.Describe(gvk.Kind, name) + " to become ready"
	return observed
}

// createOrAdopt creates the object. If an object with this name exists, createOrAdopt leaves it unchanged, except for a
// label that lets the agent in the cluster watch it. The object belongs to the user from now on. This is why it is
// created and not applied.
func createOrAdopt(ctx context.Context, c *clusters.Cluster, resource kinds.Resource, wanted *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	described := objects.Describe(wanted.GetKind(), types.NamespacedName{Namespace: wanted.GetNamespace(), Name: wanted.GetName()})
	client := c.Dynamic.Resource(resource.GroupVersionResource).Namespace(wanted.GetNamespace())
	live, err := objects.Create(ctx, client, wanted, shared.FieldManagerLifecycleManager)
	if apply.NamespaceMissing(err) {
		if err = objects.EnsureNamespace(ctx, c, wanted.GetNamespace()); err == nil {
			live, err = objects.Create(ctx, client, wanted, shared.FieldManagerLifecycleManager)
		}
	}
	if apierrors.IsAlreadyExists(err) {
		live, err = adopt(ctx, client, wanted)
	}
	switch {
	case err == nil:
		return live, nil
	case apply.NotAdmitted(err):
		// A quota, a webhook or a policy may accept the object next time.
		return nil, fault.New(fault.Transient, readiness.ReasonDefaultCRInvalid, "the cluster refuses %s: %s", described, apply.Refusal(err))
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return nil, fault.New(fault.Rejected, readiness.ReasonDefaultCRInvalid, "the cluster refuses %s: %s", described, apply.Refusal(err))
	default:
		return nil, retryCR(wanted, err)
	}
}

// patcher is the part of a dynamic client that adopt needs.
type patcher interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
}

func adopt(ctx context.Context, client patcher, wanted *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	labels, err := json.Marshal(map[string]any{kinds.PathMetadata: map[string]any{kinds.PathLabels: bundle.DefaultCRLabels()}})
	if err != nil {
		return nil, err
	}
	return client.Patch(ctx, wanted.GetName(), types.MergePatchType, labels, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
}

// retryCR returns a fault for errors that a retry may solve, such as a kind that is not served yet or a webhook that does
// not answer.
func retryCR(wanted *unstructured.Unstructured, err error) error {
	known := fault.Of(clusters.Classify(err))
	if known.Kind == fault.Unreachable {
		return clusters.Classify(err)
	}
	why := apply.Refusal(err)
	if meta.IsNoMatchError(err) {
		why = "the cluster does not serve its kind"
	}
	f := fault.New(fault.Transient, ReasonDefaultCRRetried, "create %s %s/%s: %s", wanted.GetKind(), wanted.GetNamespace(), wanted.GetName(), why)
	f.RetryAfter, f.Hint = 2*time.Second, apply.HintOf(err)
	return f
}
