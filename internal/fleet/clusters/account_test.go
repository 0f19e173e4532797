package clusters

import (
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestIsAmongIgnoresGroupsOfEverybody(t *testing.T) {
	account := Account{User: "system:serviceaccount:ns:us", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated", "operators"}}
	require.True(t, account.Is(types.NamespacedName{Namespace: "ns", Name: "us"}))
	require.False(t, account.Is(types.NamespacedName{Namespace: "other", Name: "us"}))
	require.False(t, Account{}.Is(types.NamespacedName{}), "an empty account is nobody")
	require.True(t, account.IsIn("ns"))
	require.False(t, account.IsIn("n"))
	require.False(t, account.IsIn(""))
	require.False(t, Account{User: "admin"}.IsIn("ns"))
	for name, c := range map[string]struct {
		subject rbacv1.Subject
		among   bool
	}{
		"the ServiceAccount":                        {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ns", Name: "us"}, true},
		"the ServiceAccount of the binding's place": {rbacv1.Subject{Kind: "ServiceAccount", Name: "us"}, true},
		"another ServiceAccount":                    {rbacv1.Subject{Kind: "ServiceAccount", Namespace: "other", Name: "us"}, false},
		"the user":                                  {rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:ns:us"}, true},
		"another user":                              {rbacv1.Subject{Kind: "User", Name: "us"}, false},
		"a group with explicit members":             {rbacv1.Subject{Kind: "Group", Name: "operators"}, true},
		"everybody":                                 {rbacv1.Subject{Kind: "Group", Name: "system:authenticated"}, false},
		"every ServiceAccount of the namespace":     {rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts:ns"}, false},
		"a group of others":                         {rbacv1.Subject{Kind: "Group", Name: "others"}, false},
	} {
		require.Equal(t, c.among, account.IsAmong([]rbacv1.Subject{c.subject}, "ns"), name)
		require.False(t, Account{}.IsAmong([]rbacv1.Subject{c.subject}, "ns"), name)
	}
	others := rbacv1.Subject{Kind: "ServiceAccount", Namespace: "other", Name: "them"}
	require.True(t, account.IsAmong([]rbacv1.Subject{others, {Kind: "ServiceAccount", Name: "us"}}, "ns"), "an earlier subject does not matter")
}
