package harness

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// DeleteEverything deletes all Kymas and waits until nothing of them remains, so that the next test begins with
// clean clusters. It fails the test if that does not end.
func (s *Environment) DeleteEverything() {
	bounded, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var kymas v1beta2.KymaList
	if err := s.ControlPlane.List(bounded, &kymas); err != nil || len(kymas.Items) == 0 {
		s.deleteCatalog(bounded)
		return
	}
	if !s.Instance.Running() {
		s.Instance.Start()
	}
	for i := range kymas.Items {
		_ = s.ControlPlane.Delete(bounded, &kymas.Items[i])
	}
	for bounded.Err() == nil {
		if err := s.ControlPlane.List(bounded, &kymas); err == nil && len(kymas.Items) == 0 {
			s.deleteCatalog(bounded)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.explain()
	s.T.Errorf("Kymas remain after the test: %d", len(kymas.Items))
}

// deleteCatalog deletes the catalog and waits until it is gone: what made a module mandatory has a finalizer until
// the instance has seen that no cluster has it.
func (s *Environment) deleteCatalog(bounded context.Context) {
	s.DeleteCatalogIn(bounded, ControlPlaneNamespace)
	require.NoError(s.T, s.ControlPlane.DeleteAllOf(bounded, &corev1.Secret{}, client.InNamespace(ControlPlaneNamespace), client.HasLabels{shared.LabelKymaName}))
}

// DeleteCatalogIn deletes the catalog in a namespace, and waits until it is gone where an instance runs.
func (s *Environment) DeleteCatalogIn(bounded context.Context, namespace string) {
	for _, obj := range []client.Object{&v1beta2.RolloutPolicy{}, &v1beta2.RemovalBudget{}, &v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{}} {
		require.NoError(s.T, s.ControlPlane.DeleteAllOf(bounded, obj, client.InNamespace(namespace)))
	}
	for _, list := range []client.ObjectList{&v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{}} {
		for s.Instance.Running() {
			require.NoError(s.T, s.ControlPlane.List(bounded, list, client.InNamespace(namespace)))
			if meta.LenList(list) == 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	// Without policies and release metas, none is made anew.
	require.NoError(s.T, s.ControlPlane.DeleteAllOf(bounded, &v1beta2.ModuleRollout{}, client.InNamespace(namespace)))
}

// clearAfterFailure deletes by force what remains of a failed test, so that the next one does not fail because of it.
func (s *Environment) clearAfterFailure() {
	if !s.T.Failed() {
		return
	}
	s.Instance.Stop()
	forceDeleteAll(s.ControlPlane, &v1beta2.ManifestList{}, &v1beta2.KymaList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{},
		&v1beta2.RolloutPolicyList{}, &v1beta2.ModuleRolloutList{}, &v1beta2.RemovalBudgetList{}, &v1beta2.RemoteAgentList{})
	_ = s.ControlPlane.DeleteAllOf(context.Background(), &corev1.Secret{}, client.InNamespace(ControlPlaneNamespace), client.HasLabels{shared.LabelKymaName})
	for _, remote := range s.Remotes {
		forceDeleteAll(remote, &v1beta2.KymaList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{})
		forceDeleteModules(s.T, remote)
	}
}

// forceDeleteModules deletes the objects of modules, and the custom resources of their kinds. Definitions come last: one that is
// deleted without its finalizer leaves its custom resources in etcd, and they come back with the next definition of that name.
func forceDeleteModules(t testing.TB, remote cluster.Cluster) {
	t.Helper()
	var definitions []metav1.PartialObjectMetadata
	groups := map[string]bool{} // of the definitions
	all := remote.All(t)
	isOwned := func(object metav1.PartialObjectMetadata) bool {
		return object.Annotations[shared.AnnotationOwnedBy] != ""
	}
	for _, object := range all {
		if isOwned(object) && object.Kind == "CustomResourceDefinition" {
			_, group, _ := strings.Cut(object.Name, ".")
			definitions, groups[group] = append(definitions, object), true
		}
	}
	for _, object := range all {
		if object.Kind != "CustomResourceDefinition" && (isOwned(object) || groups[object.GroupVersionKind().Group]) {
			remote.ForceDelete(&object)
		}
	}
	for _, object := range definitions {
		remote.ForceDelete(&object)
	}
}

func forceDeleteAll(c cluster.Cluster, lists ...client.ObjectList) {
	for _, list := range lists {
		_ = c.List(context.Background(), list)
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			if object, ok := o.(client.Object); ok {
				c.ForceDelete(object)
			}
			return nil
		})
	}
}
