package harness

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

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Place is one Kyma with one Manifest, in a namespace of its own in the control plane and under names of its own in
// the remote cluster. There is no workflow for the Kyma.
type Place struct {
	*testing.T
	*Lane
	ID       string
	Kyma     *v1beta2.Kyma
	Manifest *v1beta2.Manifest
}

// kymaName is the name of the Kyma of every place.
const kymaName = "kyma"

// NewPlace makes a place whose Manifest asks for this version of the module, and an operator for its default custom
// resource. Nobody works on the Manifest yet. Everything is removed at the end of the test.
func (l *Lane) NewPlace(t *testing.T, version TwentyVersion) *Place {
	t.Helper()
	p := &Place{T: t, Lane: l, ID: fmt.Sprintf("c%x", time.Now().UnixNano())}
	t.Cleanup(p.leave)
	p.create(l.Control, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.ID}})
	p.create(l.Remote, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Twenty(p.ID).RemoteNamespace()}})
	p.create(l.Control, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "access", Namespace: p.ID, Labels: map[string]string{shared.LabelKymaName: kymaName}},
		Data:       map[string][]byte{shared.AccessSecretKey: l.Kubeconfig},
	})
	p.Kyma = &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: p.ID, Name: kymaName}}
	p.create(l.Control, p.Kyma)
	p.Manifest = &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.ID, Name: p.ID + "-twenty",
			Labels:          map[string]string{shared.LabelKymaName: kymaName, shared.LabelModuleName: "twenty"},
			Annotations:     map[string]string{desired.AnnotationRemoteNamespace: Twenty(p.ID).RemoteNamespace()},
			Finalizers:      desired.ManifestFinalizers(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.Kyma, v1beta2.GroupVersion.WithKind(shared.KindKyma))},
		},
		Spec: v1beta2.ManifestSpec{
			Remote: true, Version: version.Number, Resource: Twenty(p.ID).DefaultCR(), Manager: Twenty(p.ID).Manager(),
			Install: v1beta2.InstallInfo{Name: "raw-manifest", Source: l.Push(t, version.Layer(p.ID))},
		},
	}
	p.create(l.Control, p.Manifest)
	l.Serve(t, p.ID)
	return p
}

func (p *Place) create(c client.Client, object client.Object) {
	p.Helper()
	require.NoError(p, c.Create(p.Context(), object))
}

// Read reads the Manifest as it is now; nil when it is gone.
func (p *Place) Read() *v1beta2.Manifest {
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
func (p *Place) Upgrade(version TwentyVersion) {
	p.Helper()
	m := p.Read()
	m.Spec.Version, m.Spec.Install.Source = version.Number, p.Push(p, version.Layer(p.ID))
	require.NoError(p, p.Control.Update(p.Context(), m))
}

// Delete deletes the Manifest.
func (p *Place) Delete() {
	p.Helper()
	require.NoError(p, p.Control.Delete(p.Context(), p.Manifest))
}

// Kick starts the Manifest's workflow, or wakes it, as a watcher does.
func (p *Place) Kick() {
	p.Helper()
	id, ref := kick.ManifestWorkflowID(kick.RefOf(p.Manifest)), kick.RefOf(p.Manifest)
	m := p.Read()
	_, err := p.Temporal.SignalWithStartWorkflow(p.Context(), id, kick.Signal,
		kick.Kick{Reason: "Manifest changed", Urgent: true, Deleting: m != nil && !m.DeletionTimestamp.IsZero()},
		temporal.StartWorkflowOptions{
			ID: id, TaskQueue: kick.ControlPlaneQueue,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			// A worker that was cut off may have taken a task with it.
			WorkflowTaskTimeout: shortTimeout,
		}, kick.ManifestWorkflow, kick.Start{Ref: ref})
	require.NoError(p, err)
}

// IsSettled tells whether the module is Ready for what its Manifest asks for now, and nobody works on it any more.
func (p *Place) IsSettled() bool {
	p.Helper()
	m := p.Read()
	return m != nil && m.Status.Settled && m.Status.State == shared.StateReady &&
		m.Status.InputsDigest == manifests.InputsDigest(m) && p.isIdle()
}

// IsGone tells whether the Manifest is gone, and nobody works on it any more.
func (p *Place) IsGone() bool {
	p.Helper()
	return p.Read() == nil && p.isIdle()
}

func (p *Place) isIdle() bool {
	p.Helper()
	description, err := p.Temporal.DescribeWorkflowExecution(p.Context(), kick.ManifestWorkflowID(kick.RefOf(p.Manifest)), "")
	var notFound *serviceerror.NotFound
	if err != nil {
		require.ErrorAs(p, err, &notFound)
		return true
	}
	return description.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
}

// leave removes everything of the place without asking any code under test.
func (p *Place) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = p.Temporal.TerminateWorkflow(ctx, kick.ManifestWorkflowID(kick.RefOf(p.Manifest)), "", "the test is over")
	if m := p.Read(); m != nil {
		m.Finalizers = nil
		require.NoError(p, client.IgnoreNotFound(p.Control.Update(ctx, m)))
	}
	p.Clear(p, p.ID)
	require.NoError(p, client.IgnoreNotFound(p.Control.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.ID}})))
}

// Clear removes from the remote cluster what a module with this id, its user, or its operator made there.
func (l *Lane) Clear(t testing.TB, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l.letGo(ctx, id)
	for _, name := range []string{Twenty(id).RemoteNamespace(), Twenty(id).Namespace()} {
		err := l.Remote.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		require.NoError(t, client.IgnoreNotFound(err))
	}
	for resource, name := range Twenty(id).ClusterScoped() {
		err := l.remote.Resource(resource).Delete(ctx, name, metav1.DeleteOptions{})
		require.NoError(t, client.IgnoreNotFound(err))
	}
}

// letGo takes the operator's finalizer off what it served.
func (l *Lane) letGo(ctx context.Context, id string) {
	crs := l.remote.Resource(Twenty(id).Widgets()).Namespace(Twenty(id).RemoteNamespace())
	list, err := crs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		list.Items[i].SetFinalizers(nil)
		_, _ = crs.Update(ctx, &list.Items[i], metav1.UpdateOptions{})
	}
}
