package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
)

func line(user, verb, group, resource, namespace, name, decision string) string {
	return fmt.Sprintf(`{"user":{"username":"system:serviceaccount:%s"},"verb":%q,"objectRef":{"apiGroup":%q,"resource":%q,"namespace":%q,"name":%q},"annotations":{"authorization.k8s.io/decision":%q}}`,
		user, verb, group, resource, namespace, name, decision) + "\n"
}

func TestRightsThatNothingUsedAndWhatWasRefusedAreFound(t *testing.T) {
	granted := []rights.Right{
		{Scope: rights.ScopeRelease, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"{settings}"}, Verbs: []string{"get", "update"}},
		{Scope: rights.ScopeCluster, APIGroups: []string{"", "apps"}, Resources: []string{"nodes"}, Verbs: []string{"list"}},
	}
	c := newComparison(granted)
	require.NoError(t, c.read(strings.NewReader(strings.Join([]string{
		line("kcp-system:lm", "get", "", "configmaps", "kcp-system", "lifecycle-manager-settings", "allow"),
		line("kcp-system:lm", "update", "", "configmaps", "kcp-system", "", "allow"), // no name, so not by this right
		line("elsewhere:lm", "update", "", "configmaps", "kcp-system", "x", "allow"), // another account
		line("kcp-system:lm", "list", "", "nodes", "", "", "allow"),
		line("kcp-system:lm", "list", "apps", "nodes", "in-a-namespace", "", "allow"), // another scope
		line("kcp-system:lm", "delete", "", "secrets", "kcp-system", "x", "forbid"),
		`{"user":{"username":"syst`, // the line that is being written
	}, ""))))
	require.Equal(t, []string{
		"unused: update configmaps. {settings}, scope release",
		"unused: list nodes.apps , scope cluster",
		`refused 1 times: lm may not delete secrets. in namespace "kcp-system"`,
	}, c.problems())
	require.Equal(t, 4, c.total)
	require.Equal(t, 2, c.requests)
}
