package e2e

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// An unmanaged module, an object with the label that skips reconciliation, and what a paused workflow has, stays unchanged for
// as long as somebody wants. The status says so, and it blocks no deletion.
func TestWhatIsPausedUnmanagedOrSkippedStaysUnchanged(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften() // drift is found by passes
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	s.Instance.Start()
	s.Create(harness.NewKyma("alone", "sample"))
	s.BecomesReady("alone", "sample@1.0.0")
	created := s.Kyma("alone")
	operator, cr := sampleObjects(t, s)
	require.Equal(t, "kyma", operator.Labels[shared.LabelManagedBy])

	no, yes := false, true
	t.Run("an operator pauses the workflow: the status shows it, and sweeps leave it alone until it is resumed", func(t *testing.T) {
		pausedStays(t, s, func() {
			s.EditEntry("sample", func(module *v1beta2.Module) { module.Managed = &no })
		})
	})
	t.Run("the module, now unmanaged, loses our labels and annotations, and nothing else", func(t *testing.T) {
		isUnmarked(t, s, operator, cr)
	})
	t.Run("managed again, it is adopted", func(t *testing.T) {
		s.EditEntry("sample", func(module *v1beta2.Module) { module.Managed = &yes })
		isAdopted(t, s, operator, cr)
	})
	t.Run("the entry of an unmanaged module is removed without anything happening to it", func(t *testing.T) {
		s.EditEntry("sample", func(module *v1beta2.Module) { module.Managed = &no })
		isUnmarked(t, s, operator, cr)
		s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
		s.Eventually("it is not shown any more", 2*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.Kyma("alone").Status.Modules)
			assert.Empty(c, s.Manifests(created))
		})
		now, sample := sampleObjects(t, s)
		require.Equal(t, operator.UID, now.UID)
		require.Equal(t, cr.GetUID(), sample.GetUID())
		require.Positive(t, now.Status.AvailableReplicas)
	})
	t.Run("listed again, what is there is adopted", func(t *testing.T) {
		s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "sample"}} })
		isAdopted(t, s, operator, cr)
	})
	t.Run("a Manifest that is skipped is not upgraded, and says so", func(t *testing.T) {
		manifest := s.Manifests(created)[0]
		labelManifest(s, &manifest, "true")
		s.EditEntry("sample", func(module *v1beta2.Module) { module.Channel = "fast" })
		s.Eventually("the status says so", 2*time.Minute, func(c *assert.CollectT) {
			kyma := s.Kyma("alone")
			if assert.Len(c, kyma.Status.Remote.Modules, 1) {
				assert.Equal(c, "fast", kyma.Status.Remote.Modules[0].Channel, "the edit was seen")
			}
			module := harness.ModulesByName(kyma.Status.Modules)["sample"]
			assert.Equal(c, "reconciliation is skipped, for it has the label operator.kyma-project.io/skip-reconciliation", module.Message)
			assert.Contains(c, workflowDetails(t, s, kyma), "reconciliation is skipped")
		})
		s.Sweeps(t, 1)
		require.Equal(t, "1.0.0", s.Manifests(created)[0].Spec.Version)
	})
	t.Run("a Kyma that is skipped says so", func(t *testing.T) {
		harness.Edit(t, s.ControlPlane, s.Kyma("alone"), func(k *v1beta2.Kyma) {
			metav1.SetMetaDataLabel(&k.ObjectMeta, shared.LabelSkipReconciliation, "true")
		})
		s.Eventually("the status says so", 2*time.Minute, func(c *assert.CollectT) {
			kyma := s.Kyma("alone")
			if assert.NotNil(c, kyma.Status.LastOperation) {
				assert.Equal(c, "reconciliation is skipped, for it has the label operator.kyma-project.io/skip-reconciliation", kyma.Status.LastOperation.Operation)
			}
			assert.Contains(c, workflowDetails(t, s, kyma), "reconciliation is skipped")
		})
	})
	t.Run("both are deleted all the same", func(t *testing.T) {
		isDeletedInFull(t, s, s.Kyma("alone"), metav1.DeletePropagationBackground)
	})
}

// pausedStays pauses the workflow of Kyma "alone" while a change is made that deletes its one Manifest, and resumes it.
func pausedStays(t *testing.T, s *harness.Environment, change func()) {
	t.Helper()
	id := kick.KymaWorkflowID(kick.RefOf(s.Kyma("alone")))
	shown := func(c require.TestingT) string {
		cmd := exec.CommandContext(t.Context(), testfleet.Binary(t, "lifecycle-manager"), "status", "alone", "--kubeconfig", s.ControlPlane.Kubeconfig)
		cmd.Env = s.Variables()
		said, err := cmd.Output()
		require.NoError(c, err)
		return string(said)
	}
	const paused = "workflow: paused in Temporal"
	require.NotContains(t, shown(t), paused)

	temporal := s.Temporal.WorkflowService()
	_, err := temporal.PauseWorkflowExecution(t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: s.Namespace, WorkflowId: id, Identity: "operator", Reason: "to look at it", RequestId: "pause",
	})
	require.NoError(t, err)
	change()
	s.Eventually("the status says that the workflow is paused, and how to resume it", 2*time.Minute, func(c *assert.CollectT) {
		assert.Contains(c, shown(c), paused)
	})
	require.Contains(t, shown(t), "temporal workflow unpause --workflow-id "+id)

	before := time.Now()
	s.Sweeps(t, 2)
	require.Empty(t, s.Kicks(id, before))
	require.Len(t, s.Manifests(s.Kyma("alone")), 1)

	_, err = temporal.UnpauseWorkflowExecution(t.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
		Namespace: s.Namespace, WorkflowId: id, Identity: "operator", RequestId: "unpause",
	})
	require.NoError(t, err)
	s.Eventually("the change is worked on", 2*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.Manifests(s.Kyma("alone")))
	})
}

// sampleObjects are the Deployment and the default custom resource of the sample module.
func sampleObjects(t *testing.T, s *harness.Environment) (*appsv1.Deployment, *unstructured.Unstructured) {
	t.Helper()
	var operator appsv1.Deployment
	require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "sample-operator"}, &operator))
	samples := &unstructured.UnstructuredList{}
	samples.SetGroupVersionKind(harness.SampleGVK)
	require.NoError(t, s.Remote.List(t.Context(), samples))
	require.Len(t, samples.Items, 1)
	return &operator, &samples.Items[0]
}

// isUnmarked waits until the module is shown as Unmanaged and nothing of it has our labels, and requires that it is
// the same object as before.
func isUnmarked(t *testing.T, s *harness.Environment, operator *appsv1.Deployment, cr *unstructured.Unstructured) {
	t.Helper()
	s.Eventually("the module is unmanaged", 2*time.Minute, func(c *assert.CollectT) {
		module := s.Module("alone", "sample")
		assert.Equal(c, shared.StateUnmanaged, module.State, module.Message)
		assert.Empty(c, s.Manifests(s.Kyma("alone")), "the Manifest goes, and nothing with it")
	})
	require.Empty(t, markedObjects(t, s))
	now, sample := sampleObjects(t, s)
	require.Equal(t, operator.UID, now.UID)
	require.NotContains(t, now.Labels, shared.LabelManagedBy)
	require.Equal(t, operator.Spec.Template.Spec.Containers, now.Spec.Template.Spec.Containers)
	require.Equal(t, cr.GetUID(), sample.GetUID())
	require.NotContains(t, sample.GetLabels(), shared.LabelWatchedBy)
}

// isAdopted waits until the module is Ready, marked as ours, and is what was there before.
func isAdopted(t *testing.T, s *harness.Environment, operator *appsv1.Deployment, cr *unstructured.Unstructured) {
	t.Helper()
	s.BecomesReady("alone", "sample@1.0.0")
	now, sample := sampleObjects(t, s)
	require.Equal(t, operator.UID, now.UID)
	require.Equal(t, "kyma", now.Labels[shared.LabelManagedBy])
	require.Contains(t, now.Annotations, shared.AnnotationOwnedBy)
	require.Equal(t, cr.GetUID(), sample.GetUID())
}

// markedObjects names what of the module has the mark of its Manifest, but for what controllers copied it to.
func markedObjects(t *testing.T, s *harness.Environment) []string {
	t.Helper()
	var marked []string
	for _, object := range s.Remote.All(t) {
		if cluster.IsInstalled(&object) {
			marked = append(marked, object.Kind+" "+object.Name)
		}
	}
	return marked
}

// labelManifest puts the label that skips reconciliation on a Manifest.
func labelManifest(s *harness.Environment, manifest *v1beta2.Manifest, value string) {
	s.T.Helper()
	patch := []byte(`{"metadata":{"labels":{"` + shared.LabelSkipReconciliation + `":"` + value + `"}}}`)
	require.NoError(s.T, s.ControlPlane.Patch(s.T.Context(), manifest, client.RawPatch("application/merge-patch+json", patch)))
}

// workflowDetails are what Temporal's web interface shows of a Kyma's workflow.
func workflowDetails(t *testing.T, s *harness.Environment, kyma *v1beta2.Kyma) string {
	t.Helper()
	answer, err := s.Temporal.QueryWorkflow(t.Context(), kick.KymaWorkflowID(kick.RefOf(kyma)), "", "__temporal_workflow_metadata")
	if err != nil {
		return err.Error()
	}
	var metadata sdkpb.WorkflowMetadata
	require.NoError(t, answer.Get(&metadata))
	return metadata.GetCurrentDetails()
}
