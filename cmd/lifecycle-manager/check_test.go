package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
)

// Without events nothing is asked for in the namespace of their certificates.
func TestTheRightsThatAreCheckedAreThoseOfTheRouting(t *testing.T) {
	asked := func(line ...string) (scopes map[string]bool, namespaces []string) {
		f := &flags{}
		command := newRunCommand()
		command.ResetFlags()
		f.groups().AddTo(command)
		require.NoError(t, command.ParseFlags(line))
		require.NoError(t, f.check())
		instance, where := rightsOf(f)
		needed, err := rights.Of(instance)
		require.NoError(t, err)
		scopes = map[string]bool{}
		for _, right := range needed {
			for _, group := range right.APIGroups {
				for _, verb := range right.Verbs {
					scopes[right.Scope+" "+group+" "+verb] = true
				}
			}
		}
		return scopes, where[rights.ScopeIstio]
	}
	scopes, _ := asked("--istio-namespace=mesh")
	require.NotContains(t, scopes, "istio  get")
	scopes, namespaces := asked("--istio-namespace=mesh", "--watcher-routing=istio", "--listener-gateway-cidrs=10.0.0.0/16", "--cert-management=cert.gardener.cloud/v1alpha1")
	require.Equal(t, []string{"mesh"}, namespaces)
	for _, scope := range []string{"istio  get", "istio cert.gardener.cloud create", "istio cert-manager.io delete", "cluster networking.istio.io list", "namespaces networking.istio.io create"} {
		require.Contains(t, scopes, scope)
	}
	require.NotContains(t, scopes, "istio cert-manager.io create", "that issuer is asked for nothing")
}
