package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/reserved"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// EnsureDefaultCR makes the default custom resource, or adopts the one that is there, once. The intent is
// recorded before and the uid after: an intent without uid means look, adopt or create. A recorded uid that is
// gone means that its user deleted it, and it stays deleted unless the Manifest says otherwise.
//
// It returns what it wrote into the status. Errors are faults.
func (a *Activities) EnsureDefaultCR(ctx context.Context, in WaitInput) (Observed, error) {
	m, err := a.read(ctx, in.Ref)
	if err != nil {
		return Observed{}, err
	}
	if m == nil || !m.DeletionTimestamp.IsZero() || m.IsUnmanaged() || m.IsSkipReconciliation() {
		return leaving(), nil
	}
	if !desired.IsDecided(m) {
		return Observed{}, fault.New(fault.Transient, ReasonNotDecided, "Manifest %s changed while its default custom resource was made", markOf(m))
	}
	wanted, err := defaultCROf(m)
	if err != nil {
		return Observed{}, err
	}
	observed := in.Reported
	observed.DefaultCRWanted = false
	if wanted == nil {
		return observed, nil
	}
	if recorded := m.Status.DefaultCR; recorded != nil && recorded.UID != "" && !recreates(m) {
		// An earlier attempt got this far. Whether the object is there is for the next look to see.
		return pendingCR(observed, recorded), nil
	}
	cluster, err := a.target(ctx, m)
	if err != nil {
		return Observed{}, err
	}
	resource, err := cluster.Mapper.Resource(ctx, wanted.GroupVersionKind())
	if err != nil {
		return Observed{}, retryCR(wanted, err)
	}
	place(wanted, resource, a.remoteNamespace(m))
	if err := a.intend(ctx, m, wanted); err != nil {
		return Observed{}, err
	}
	live, err := createOrAdopt(ctx, cluster, resource, wanted)
	if err != nil {
		return Observed{}, err
	}
	recorded := recordOf(live, string(live.GetUID()))
	observed = pendingCR(observed, recorded)
	before := m.Status.State
	err = a.recordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		s.DefaultCR = recorded
		setObserved(m, s, observed, a.now())
	})
	if errors.Is(err, errChanged) {
		return leaving(), nil
	}
	if err == nil && before != m.Status.State {
		err = a.kickKyma(ctx, m)
	}
	return observed, err
}

func pendingCR(observed Observed, recorded *v1beta2.DefaultCRRecord) Observed {
	gvk, name := recordedCR(recorded)
	observed.State, observed.Reason = shared.StateProcessing, ReasonModuleCRPending
	observed.Message = "waiting for " + describe(gvk.Kind, name) + " to become ready"
	return observed
}

// intend records that the default custom resource is about to be made.
func (a *Activities) intend(ctx context.Context, m *v1beta2.Manifest, wanted *unstructured.Unstructured) error {
	_, err := a.writeStatus(ctx, m, func(s *v1beta2.ManifestStatus) { s.DefaultCR = recordOf(wanted, "") })
	return err
}

// createOrAdopt creates the object, unless there is one of this name: that one is taken as it is, and only
// labelled, so that the agent in the cluster watches it. The object belongs to the user from now on, which
// is why it is created and not applied.
func createOrAdopt(ctx context.Context, c *clusters.Cluster, resource clusters.Resource, wanted *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	described := describe(wanted.GetKind(), types.NamespacedName{Namespace: wanted.GetNamespace(), Name: wanted.GetName()})
	client := c.Dynamic.Resource(resource.GroupVersionResource).Namespace(wanted.GetNamespace())
	live, err := client.Create(ctx, wanted, metav1.CreateOptions{FieldManager: shared.FieldManagerLifecycleManager})
	if namespaceMissing(err) {
		if err = makeNamespace(ctx, c, wanted.GetNamespace()); err == nil {
			live, err = client.Create(ctx, wanted, metav1.CreateOptions{FieldManager: shared.FieldManagerLifecycleManager})
		}
	}
	if apierrors.IsAlreadyExists(err) {
		live, err = adopt(ctx, client, wanted)
	}
	switch {
	case err == nil:
		return live, nil
	case apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, "NamespaceTerminating"), byAdmission(err):
		// What a quota, a webhook or a policy refuses now it may let through the next time.
		return nil, fault.New(fault.Transient, ReasonDefaultCRInvalid, "the cluster refuses %s: %s", described, refusal(err))
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return nil, fault.New(fault.Rejected, ReasonDefaultCRInvalid, "the cluster refuses %s: %s", described, refusal(err))
	default:
		return nil, retryCR(wanted, err)
	}
}

// patcher is what adopt needs of a dynamic client.
type patcher interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
}

func adopt(ctx context.Context, client patcher, wanted *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	labels, err := json.Marshal(map[string]any{pathMetadata: map[string]any{pathLabels: crLabels()}})
	if err != nil {
		return nil, err
	}
	return client.Patch(ctx, wanted.GetName(), types.MergePatchType, labels, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
}

func crLabels() map[string]string {
	return map[string]string{shared.LabelWatchedBy: shared.WatchedByKyma, shared.LabelManagedBy: shared.ManagedByKyma}
}

// retryCR is for what may work the next time: a kind that is not served yet, a webhook that does not answer.
func retryCR(wanted *unstructured.Unstructured, err error) error {
	known := fault.Of(clusters.Classify(err))
	if known.Kind == fault.Unreachable {
		return clusters.Classify(err)
	}
	why := refusal(err)
	if meta.IsNoMatchError(err) {
		why = "the cluster does not know its kind"
	}
	f := fault.New(fault.Transient, ReasonDefaultCRRetried, "make %s %s/%s: %s", wanted.GetKind(), wanted.GetNamespace(), wanted.GetName(), why)
	f.RetryAfter = 2 * time.Second
	return f
}

// defaultCROf is the default custom resource that we are to care for: none where the policy leaves it to
// the user. It carries our labels, a name, and no status.
func defaultCROf(m *v1beta2.Manifest) (*unstructured.Unstructured, error) {
	if m.Spec.EffectivePolicy() != v1beta2.CustomResourcePolicyCreateAndDelete {
		return nil, nil //nolint:nilnil // having none is an ordinary case
	}
	cr, err := m.Spec.DefaultCR()
	if err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidSpec, "Manifest %s/%s: spec.resource: %w", m.Namespace, m.Name, err)
	}
	if cr == nil {
		return nil, nil //nolint:nilnil // as above
	}
	if cr.GetName() == "" {
		cr.SetName(m.Name)
	}
	if why := reserved.Object(cr.GroupVersionKind().GroupKind(), types.NamespacedName{Namespace: cr.GetNamespace(), Name: cr.GetName()}); why != "" {
		return nil, fault.New(fault.Rejected, ReasonDefaultCRInvalid, "%s %s cannot be the default custom resource: %s", cr.GetKind(), cr.GetName(), why)
	}
	namespace := cr.GetNamespace()
	clean(cr)
	cr.SetNamespace(namespace)
	labels := cr.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range crLabels() {
		labels[key] = value
	}
	cr.SetLabels(labels)
	return cr, nil
}

// place gives the object the namespace that its kind needs.
func place(cr *unstructured.Unstructured, resource clusters.Resource, remoteNamespace string) {
	switch {
	case !resource.Namespaced:
		cr.SetNamespace("")
	case cr.GetNamespace() == "":
		cr.SetNamespace(remoteNamespace)
	}
}

func recordOf(cr *unstructured.Unstructured, uid string) *v1beta2.DefaultCRRecord {
	return &v1beta2.DefaultCRRecord{
		APIVersion: cr.GetAPIVersion(), Kind: cr.GetKind(), Namespace: cr.GetNamespace(), Name: cr.GetName(), UID: uid,
	}
}

func recordedCR(r *v1beta2.DefaultCRRecord) (schema.GroupVersionKind, types.NamespacedName) {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind), types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// leaving is what is said of a Manifest that is gone, or that only a new look may decide about.
func leaving() Observed {
	return Observed{State: shared.StateDeleting, Reason: ReasonDeleting, Message: "the module is not to be installed any more"}
}

// now is the time for statuses.
func (a *Activities) now() metav1.Time { return metav1.NewTime(a.options.Clock()) }

// kickKyma wakes the workflow of the Kyma that the Manifest belongs to.
func (a *Activities) kickKyma(ctx context.Context, m *v1beta2.Manifest) error {
	owner := metav1.GetControllerOf(m)
	if owner == nil || owner.Kind != shared.KindKyma {
		return nil
	}
	ref := kick.Ref{Namespace: m.Namespace, Name: owner.Name, UID: owner.UID}
	err := a.options.Kymas.OpenKyma(ctx, ref, kick.Kick{
		// The reason is the label of a metric, so it has no names. What has settled is shown at once: while a
		// module is on its way, its Kyma's workflow paces itself.
		Reason: "Manifest is " + orUnknown(m.Status.State), Urgent: m.Status.Settled, Kind: shared.KindManifest,
		Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion,
	})
	if err != nil {
		return fmt.Errorf("tell Kyma %s of Manifest %s: %w", ref, m.Name, err)
	}
	return nil
}

func orUnknown(state shared.State) string {
	if state == shared.StateUnknown {
		return "in an unknown state"
	}
	return string(state)
}
