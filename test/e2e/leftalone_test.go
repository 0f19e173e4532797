package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// A module that is unmanaged, and what has the label that skips reconciliation, is left as it is for as long as its
// owner wants; it is said so, and hinders no deletion.
func TestWhatIsToBeLeftAloneIsLeftAlone(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.push("test/modules/sample/1.1.0")
	s.instance.start()
	s.create(newKyma("alone", "sample"))
	s.becomesReady("alone", "sample@1.0.0")
	created := s.kyma("alone")
	operator, cr := s.sampleObjects(t)
	require.Equal(t, "kyma", operator.Labels[shared.LabelManagedBy])

	no, yes := false, true
	t.Run("an unmanaged module loses our marks, and nothing else", func(t *testing.T) {
		s.editEntry("sample", func(module *v1beta2.Module) { module.Managed = &no })
		s.isUnmarked(t, operator, cr)
	})
	t.Run("managed again, it is adopted", func(t *testing.T) {
		s.editEntry("sample", func(module *v1beta2.Module) { module.Managed = &yes })
		s.isAdopted(t, operator, cr)
	})
	t.Run("the entry of an unmanaged module is removed without anything happening to it", func(t *testing.T) {
		s.editEntry("sample", func(module *v1beta2.Module) { module.Managed = &no })
		s.isUnmarked(t, operator, cr)
		s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
		s.eventually("it is not shown any more", 2*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.kyma("alone").Status.Modules)
			assert.Empty(c, s.manifests(created))
		})
		now, sample := s.sampleObjects(t)
		require.Equal(t, operator.UID, now.UID)
		require.Equal(t, cr.GetUID(), sample.GetUID())
		require.Positive(t, now.Status.AvailableReplicas)
	})
	t.Run("listed again, what is there is adopted", func(t *testing.T) {
		s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "sample"}} })
		s.isAdopted(t, operator, cr)
	})
	t.Run("a Manifest that is skipped is not upgraded, and says so", func(t *testing.T) {
		manifest := s.manifests(created)[0]
		s.label(&manifest, "true")
		s.editEntry("sample", func(module *v1beta2.Module) { module.Channel = "fast" })
		s.eventually("it is said", 2*time.Minute, func(c *assert.CollectT) {
			kyma := s.kyma("alone")
			if assert.Len(c, kyma.Status.Remote.Modules, 1) {
				assert.Equal(c, "fast", kyma.Status.Remote.Modules[0].Channel, "the edit was seen")
			}
			module := byName(kyma.Status.Modules)["sample"]
			assert.Equal(c, "reconciliation is skipped, for it has the label operator.kyma-project.io/skip-reconciliation", module.Message)
			assert.Contains(c, s.details(t, kyma), "reconciliation is skipped")
		})
		s.sweeps(t, 1)
		require.Equal(t, "1.0.0", s.manifests(created)[0].Spec.Version)
	})
	t.Run("a Kyma that is skipped says so", func(t *testing.T) {
		edit(t, s.controlPlane, s.kyma("alone"), func(k *v1beta2.Kyma) {
			metav1.SetMetaDataLabel(&k.ObjectMeta, shared.LabelSkipReconciliation, "true")
		})
		s.eventually("it is said", 2*time.Minute, func(c *assert.CollectT) {
			kyma := s.kyma("alone")
			if assert.NotNil(c, kyma.Status.LastOperation) {
				assert.Equal(c, "reconciliation is skipped, for it has the label operator.kyma-project.io/skip-reconciliation", kyma.Status.LastOperation.Operation)
			}
			assert.Contains(c, s.details(t, kyma), "reconciliation is skipped")
		})
	})
	t.Run("both are deleted all the same", func(t *testing.T) {
		require.NoError(t, s.controlPlane.Delete(t.Context(), s.kyma("alone")))
		s.eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(created)) })
		require.Empty(t, s.ofModule(t, s.remote))
	})
}

// sampleObjects are the Deployment and the default custom resource of the sample module.
func (s *stage) sampleObjects(t *testing.T) (*appsv1.Deployment, *unstructured.Unstructured) {
	t.Helper()
	var operator appsv1.Deployment
	require.NoError(t, s.remote.Get(t.Context(), client.ObjectKey{Namespace: remoteNamespace, Name: "sample-operator"}, &operator))
	samples := &unstructured.UnstructuredList{}
	samples.SetGroupVersionKind(sampleGVK)
	require.NoError(t, s.remote.List(t.Context(), samples))
	require.Len(t, samples.Items, 1)
	return &operator, &samples.Items[0]
}

// isUnmarked waits until the module is shown as Unmanaged and nothing of it has our marks, and makes sure that it is
// what was there before.
func (s *stage) isUnmarked(t *testing.T, operator *appsv1.Deployment, cr *unstructured.Unstructured) {
	t.Helper()
	s.eventually("the module is unmanaged", 2*time.Minute, func(c *assert.CollectT) {
		module := s.module("alone", "sample")
		assert.Equal(c, shared.StateUnmanaged, module.State, module.Message)
		assert.Empty(c, s.manifests(s.kyma("alone")), "the Manifest goes, and nothing with it")
	})
	require.Empty(t, s.marked(t))
	now, sample := s.sampleObjects(t)
	require.Equal(t, operator.UID, now.UID)
	require.NotContains(t, now.Labels, shared.LabelManagedBy)
	require.Equal(t, operator.Spec.Template.Spec.Containers, now.Spec.Template.Spec.Containers)
	require.Equal(t, cr.GetUID(), sample.GetUID())
	require.NotContains(t, sample.GetLabels(), shared.LabelWatchedBy)
}

// isAdopted waits until the module is Ready, marked as ours, and is what was there before.
func (s *stage) isAdopted(t *testing.T, operator *appsv1.Deployment, cr *unstructured.Unstructured) {
	t.Helper()
	s.becomesReady("alone", "sample@1.0.0")
	now, sample := s.sampleObjects(t)
	require.Equal(t, operator.UID, now.UID)
	require.Equal(t, "kyma", now.Labels[shared.LabelManagedBy])
	require.Contains(t, now.Annotations, shared.AnnotationOwnedBy)
	require.Equal(t, cr.GetUID(), sample.GetUID())
}

// marked names what of the module has the mark of its Manifest, but for what controllers copied it to.
func (s *stage) marked(t *testing.T) []string {
	t.Helper()
	var marked []string
	for _, object := range s.all(t, s.remote) {
		if isInstalled(&object) {
			marked = append(marked, object.GetKind()+" "+object.GetName())
		}
	}
	return marked
}

// label puts the label that skips reconciliation on a Manifest.
func (s *stage) label(manifest *v1beta2.Manifest, value string) {
	s.t.Helper()
	patch := []byte(`{"metadata":{"labels":{"` + shared.LabelSkipReconciliation + `":"` + value + `"}}}`)
	require.NoError(s.t, s.controlPlane.Patch(ctx(s.t), manifest, client.RawPatch("application/merge-patch+json", patch)))
}

// details are what Temporal's web interface shows of a Kyma's workflow.
func (s *stage) details(t *testing.T, kyma *v1beta2.Kyma) string {
	t.Helper()
	answer, err := s.temporal.QueryWorkflow(t.Context(), kick.KymaWorkflowID(kick.RefOf(kyma)), "", "__temporal_workflow_metadata")
	if err != nil {
		return err.Error()
	}
	var metadata sdkpb.WorkflowMetadata
	require.NoError(t, answer.Get(&metadata))
	return metadata.GetCurrentDetails()
}
