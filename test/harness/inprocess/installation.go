package inprocess

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/fixture"
)

// Installation is one Kyma with one Manifest of the module, in a namespace of its own in the control plane and under
// names of its own in the remote cluster. Its Kyma's workflow works on the Manifest alone (Worker).
type Installation struct {
	*testing.T
	*Harness
	ID       string
	Kyma     *v1beta2.Kyma
	Manifest *v1beta2.Manifest
}

// kymaName is the name of the Kyma of every installation.
const kymaName = "kyma"

// NewInstallation makes an installation whose Manifest asks for this version of the module, and an operator for its
// default custom resource. No workflow runs yet. Everything is removed at the end of the test.
func (h *Harness) NewInstallation(t *testing.T, version fixture.Version) *Installation {
	t.Helper()
	p := &Installation{T: t, Harness: h, ID: fmt.Sprintf("c%x", time.Now().UnixNano())}
	t.Cleanup(p.cleanUp)
	p.create(h.Control, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.ID}})
	p.create(h.Remote, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fixture.Module(p.ID).RemoteNamespace()}})
	p.create(h.Control, h.AccessSecret(p.ID, kymaName))
	p.Kyma = &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: p.ID, Name: kymaName}}
	p.create(h.Control, p.Kyma)
	p.Manifest = &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.ID, Name: p.ID + "-" + fixture.ModuleName,
			Labels:          map[string]string{shared.LabelKymaName: kymaName, shared.LabelModuleName: fixture.ModuleName},
			Annotations:     map[string]string{desired.AnnotationRemoteNamespace: fixture.Module(p.ID).RemoteNamespace()},
			Finalizers:      desired.ManifestFinalizers(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.Kyma, v1beta2.GroupVersion.WithKind(shared.KindKyma))},
		},
		Spec: v1beta2.ManifestSpec{
			Remote: true, Version: version.Number, Resource: fixture.Module(p.ID).DefaultCR(), Manager: fixture.Module(p.ID).Manager(),
			Install: v1beta2.InstallInfo{Name: "raw-manifest", Source: h.Push(t, version.Layer(p.ID))},
		},
	}
	p.create(h.Control, p.Manifest)
	h.Serve(t, p.ID)
	return p
}

func (p *Installation) create(c client.Client, object client.Object) {
	p.Helper()
	require.NoError(p, c.Create(p.Context(), object))
}

// Read reads the Manifest as it is now; nil when it is gone.
func (p *Installation) Read() *v1beta2.Manifest {
	p.Helper()
	m := &v1beta2.Manifest{}
	err := p.Control.Get(context.Background(), client.ObjectKeyFromObject(p.Manifest), m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(p, err)
	return m
}

// Upgrade makes the Manifest ask for another version.
func (p *Installation) Upgrade(version fixture.Version) {
	p.Helper()
	m := p.Read()
	m.Spec.Version, m.Spec.Install.Source = version.Number, p.Push(p, version.Layer(p.ID))
	require.NoError(p, p.Control.Update(p.Context(), m))
}

// Delete deletes the Manifest.
func (p *Installation) Delete() {
	p.Helper()
	require.NoError(p, p.Control.Delete(p.Context(), p.Manifest))
}

// workflowID is the id of the Kyma's workflow.
func (p *Installation) workflowID() string { return kick.KymaWorkflowID(kick.RefOf(p.Kyma)) }

// Kick asks the Kyma's workflow for a step of the Manifest, as a watcher does.
func (p *Installation) Kick() {
	p.Helper()
	id, m := p.workflowID(), p.Read()
	_, err := p.Temporal.SignalWithStartWorkflow(p.Context(), id, kick.Signal,
		kick.Kick{
			Reason: "Manifest changed", Kind: shared.KindManifest, Work: true, Namespace: p.Manifest.Namespace, Name: p.Manifest.Name, UID: p.Manifest.UID,
			Urgent: true, Deleting: m != nil && !m.DeletionTimestamp.IsZero(),
		},
		temporal.StartWorkflowOptions{
			ID: id, TaskQueue: kick.ControlPlaneQueue,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			// A worker that was cut off may have had a task.
			WorkflowTaskTimeout: shortTimeout,
		}, kick.KymaWorkflow, kick.Start{Ref: kick.RefOf(p.Kyma)})
	require.NoError(p, err)
}

// IsSettled reports whether the module is Ready for what its Manifest asks for now, and the work on it has ended.
func (p *Installation) IsSettled() bool {
	p.Helper()
	m := p.Read()
	return m != nil && m.Status.Settled && m.Status.State == shared.StateReady &&
		m.Status.InputsDigest == manifests.InputsDigest(m) && p.isIdle()
}

// IsGone reports whether the Manifest is gone, and the work on it has ended.
func (p *Installation) IsGone() bool {
	p.Helper()
	return p.Read() == nil && p.isIdle()
}

func (p *Installation) isIdle() bool {
	p.Helper()
	description, err := p.Temporal.DescribeWorkflow(p.Context(), p.workflowID(), "")
	var notFound *serviceerror.NotFound
	if err != nil {
		require.ErrorAs(p, err, &notFound)
		return true
	}
	return description.Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
}

// cleanUp removes everything of the installation without the code under test.
func (p *Installation) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = p.Temporal.TerminateWorkflow(ctx, p.workflowID(), "", "the test is over")
	if m := p.Read(); m != nil {
		m.Finalizers = nil
		require.NoError(p, client.IgnoreNotFound(p.Control.Update(ctx, m)))
	}
	p.Clear(p, p.ID)
	require.NoError(p, client.IgnoreNotFound(p.Control.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.ID}})))
}

// Clear removes from the remote cluster what a module with this id, its user, or its operator made there and others' tests may meet.
// Its namespaces stay, as the deletion of one takes more than a hundred requests.
func (h *Harness) Clear(t testing.TB, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h.releaseCustomResources(ctx, id)
	for resource, name := range fixture.Module(id).ClusterScoped() {
		err := h.remote.Resource(resource).Delete(ctx, name, metav1.DeleteOptions{})
		require.NoError(t, client.IgnoreNotFound(err))
	}
}

// releaseCustomResources removes the operator's finalizer.
func (h *Harness) releaseCustomResources(ctx context.Context, id string) {
	crs := h.remote.Resource(fixture.Module(id).Widgets()).Namespace(fixture.Module(id).RemoteNamespace())
	list, err := crs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		list.Items[i].SetFinalizers(nil)
		_, _ = crs.Update(ctx, &list.Items[i], metav1.UpdateOptions{})
	}
}
