package lifecycle

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

const namespacedModule = `
apiVersion: v1
kind: Namespace
metadata: {name: ID}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: ID}
spec:
  replicas: 2
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec:
      containers: [{name: operator, image: "example.com/operator:1.0.0"}]
`

// The namespace is removed, with the objects of its workloads that Kubernetes has not deleted yet.
func TestANamespaceWithNothingButTheModuleIsRemovedWithIt(t *testing.T) {
	s := newEnvironment(t, namespacedModule, nil)
	s.installReady()
	s.delete()
	require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, 2*time.Minute, pollEvery)
	said, _ := s.recorded.take()
	require.Empty(t, said)
	live := s.get("v1", "Namespace", "", "ID")
	require.True(t, live == nil || !live.GetDeletionTimestamp().IsZero())
}

func TestANamespaceWithAUsersObjectStays(t *testing.T) {
	for name, c := range map[string]struct {
		live func(*environment)
		why  string
	}{
		"a Secret": {func(s *environment) {
			require.NoError(s, s.remote.Create(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.id, Name: "mine"}}))
		}, "Secret ID/mine"},
		"a PersistentVolumeClaim that belongs to an object": {func(s *environment) {
			ctx := context.Background()
			set := &corev1.ReplicationController{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.id, Name: "theirs", Labels: map[string]string{"app": "theirs"}},
				Spec:       corev1.ReplicationControllerSpec{Replicas: new(int32), Selector: map[string]string{"app": "theirs"}},
			}
			set.Spec.Template = &corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: set.Labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c:1.0.0"}}},
			}
			require.NoError(s, s.remote.Create(ctx, set))
			require.NoError(s, s.remote.Create(ctx, &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.id, Name: "data", OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "v1", Kind: "ReplicationController", Name: set.Name, UID: set.UID},
				}},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}))
		}, "PersistentVolumeClaim ID/data"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnvironment(t, namespacedModule, nil)
			s.installReady()
			c.live(s)
			s.delete()
			require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, 2*time.Minute, pollEvery)
			require.True(t, s.get("v1", "Namespace", "", "ID").GetDeletionTimestamp().IsZero())
			said, _ := s.recorded.take()
			require.Contains(t, strings.Join(said, "\n"), "Normal *v1beta2.Kyma LeftToOtherKymas: ")
			require.Contains(t, strings.Join(said, "\n"), "Namespace "+s.id+": in use by "+strings.ReplaceAll(c.why, "ID", s.id))
			require.Nil(t, s.get("apps/v1", "Deployment", "ID", "operator"))
		})
	}
}
