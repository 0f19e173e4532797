package storedversions

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/deploy/crds"
)

// An account that may rewrite the objects of only some namespaces rewrites none, because objects that it cannot see or
// write may still be stored in an older version.
func TestNothingIsRewrittenUnlessTheAccountMayRewriteAll(t *testing.T) {
	s := newStand(t)
	name, elsewhere := s.name(crds.Kymas), s.namespace+"-b"
	s.makeNamespace(elsewhere)
	s.install(s.definition(crds.Kymas, v1beta1))
	objects := []*unstructured.Unstructured{s.create(crds.Kymas, v1beta2, "a"), s.createIn(elsewhere, crds.Kymas, v1beta2, "b")}
	s.store(s.definition(crds.Kymas, v1beta2))

	as := rest.CopyConfig(s.config)
	as.Impersonate.UserName = s.namespace
	account, err := client.New(as, client.Options{Scheme: s.scheme})
	require.NoError(t, err)
	lacks := func(missing ...string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			_, err := s.migrator(account).Migrate(t.Context(), name, nothing)
			var lacking *NotAllowedError
			if assert.ErrorAs(c, err, &lacking) {
				assert.Equal(c, missing, lacking.Missing)
			}
		}, time.Minute, 50*time.Millisecond)
		require.Equal(t, []string{v1beta1, v1beta2}, s.storedVersions(name))
		for _, object := range objects {
			require.Equal(t, object, s.now(object, v1beta2))
		}
	}

	t.Log("nothing")
	lacks("get customresourcedefinitions.apiextensions.k8s.io named " + name)

	t.Log("the right to read the definition, which every instance of the chart has")
	s.may("", rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{name}, Verbs: []string{"get"}})
	lacks("list kymas."+s.group+" in all namespaces", "patch customresourcedefinitions/status.apiextensions.k8s.io named "+name)

	t.Log("all rights except on the objects of one namespace")
	s.may("", rbacv1.PolicyRule{APIGroups: []string{s.group}, Resources: []string{"kymas"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions/status"}, ResourceNames: []string{name}, Verbs: []string{"patch"}})
	patch := rbacv1.PolicyRule{APIGroups: []string{s.group}, Resources: []string{"kymas"}, Verbs: []string{"patch"}}
	s.may(s.namespace, patch)
	lacks("patch kymas." + s.group + " in namespace " + elsewhere)

	t.Log("all")
	s.may(elsewhere, patch)
	require.Eventually(t, func() bool {
		_, err := s.migrator(account).Migrate(t.Context(), name, nothing)
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, []string{v1beta2}, s.storedVersions(name))
	for _, object := range objects {
		require.NotEqual(t, object.GetResourceVersion(), s.now(object, v1beta2).GetResourceVersion())
	}
}

// may gives the test's account rights in a namespace, or in all namespaces.
func (s *stand) may(namespace string, rules ...rbacv1.PolicyRule) {
	s.Helper()
	meta := metav1.ObjectMeta{GenerateName: s.namespace + "-", Namespace: namespace}
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: s.namespace}}
	var role, binding client.Object
	if namespace == "" {
		cluster := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
		require.NoError(s, s.Create(s.Context(), cluster))
		role, binding = cluster, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cluster.Name}}
	} else {
		local := &rbacv1.Role{ObjectMeta: meta, Rules: rules}
		require.NoError(s, s.Create(s.Context(), local))
		role, binding = local, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: local.Name}}
	}
	require.NoError(s, s.Create(s.Context(), binding))
	s.Cleanup(func() {
		require.NoError(s, client.IgnoreNotFound(s.Delete(context.Background(), binding)))
		require.NoError(s, client.IgnoreNotFound(s.Delete(context.Background(), role)))
	})
}
