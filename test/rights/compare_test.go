package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/test/rights/granted"
)

func line(user, verb, group, resource, namespace, name, decision string) string {
	return fmt.Sprintf(`{"user":{"username":"system:serviceaccount:%s"},"verb":%q,"objectRef":{"apiGroup":%q,"resource":%q,"namespace":%q,"name":%q},"requestReceivedTimestamp":"2026-01-01T00:00:10Z","annotations":{"authorization.k8s.io/decision":%q}}`,
		user, verb, group, resource, namespace, name, decision) + "\n"
}

// account has both roles; its release and its keys are in one namespace, its Kymas in another.
func account(user string, roles ...string) granted.Account {
	return granted.Account{
		At: time.Unix(0, 0), User: serviceAccounts + user,
		Instance:   rights.Instance{Roles: roles, Names: map[string]string{"settings": "its-settings", "pull": "its-pull"}},
		Namespaces: map[string][]string{rights.ScopeRelease: {"system"}, rights.ScopeKeys: {"system"}, rights.ScopeNamespaces: {"kymas"}},
	}
}

func TestRightsThatNothingUsedAndWhatWasRefusedAreFound(t *testing.T) {
	watchers, both := []string{rights.Watchers}, []string{rights.Watchers, rights.Workers}
	core := []string{""}
	settings := rights.Right{Scope: rights.ScopeRelease, For: watchers, APIGroups: core, Resources: []string{"configmaps"}, ResourceNames: []string{"{settings}"}, Verbs: []string{"get", "update"}}
	nodes := rights.Right{Scope: rights.ScopeCluster, For: watchers, APIGroups: []string{"", "apps", "batch"}, Resources: []string{"nodes"}, Verbs: []string{"list"}}
	pull := rights.Right{Scope: rights.ScopeKeys, For: watchers, APIGroups: core, Resources: []string{"secrets"}, ResourceNames: []string{"{pull}"}, Verbs: []string{"get"}}
	secrets := rights.Right{Scope: rights.ScopeRelease, For: both, APIGroups: core, Resources: []string{"secrets"}, Verbs: []string{"get"}}
	kymas := rights.Right{Scope: rights.ScopeNamespaces, For: both, APIGroups: core, Resources: []string{"kymas"}, Verbs: []string{"list", "watch"}}
	lost := account("system:lm", both...)
	lost.Lost, lost.At = true, time.Date(2026, 1, 1, 0, 0, 9, 0, time.UTC)
	admin := account("system:lm", both...)
	admin.Everything = true
	for name, tc := range map[string]struct {
		listed   []rights.Right
		accounts []granted.Account
		log      string
		problems []string
		requests int
	}{
		"names and scopes": {
			[]rights.Right{settings, nodes},
			[]granted.Account{account("system:lm", both...)},
			line("system:lm", "get", "", "configmaps", "system", "its-settings", "allow") +
				line("system:lm", "update", "", "configmaps", "system", "", "allow") + // no name, so not by this right
				line("system:lm", "update", "", "configmaps", "system", "others-settings", "allow") +
				line("system:lm", "update", "", "configmaps", "kymas", "its-settings", "allow") +
				line("elsewhere:lm", "update", "", "configmaps", "system", "its-settings", "allow") + // an account of which nothing is recorded
				line("system:lm", "list", "", "nodes", "", "", "allow") +
				line("system:lm", "list", "apps", "nodes", "kymas", "", "allow") + // for which no ClusterRole is needed
				line("system:lm", "list", "batch", "nodes", "elsewhere", "", "allow") + // for which one is
				line("system:lm", "delete", "", "secrets", "system", "x", "forbid") +
				line("elsewhere:lm", "delete", "", "secrets", "system", "x", "forbid") +
				`{"user":{"username":"syst`, // the line that is being written
			[]string{
				"unused by watchers: update configmaps. {settings}, scope release", "unused by watchers: list nodes.apps , scope cluster",
				`refused 1 times: system:lm may not delete secrets. in namespace "system"`,
			}, 3,
		},
		"what two rights allow": {
			[]rights.Right{pull, secrets},
			[]granted.Account{account("system:lm", rights.Watchers)},
			line("system:lm", "get", "", "secrets", "system", "its-pull", "allow") + line("system:lm", "get", "", "secrets", "system", "x", "allow"),
			[]string{"unused by watchers: get secrets. {pull}, scope keys", "unused by workers: get secrets. , scope release"}, 1,
		},
		"each role": {
			[]rights.Right{kymas},
			[]granted.Account{account("system:lm", both...), account("system:lm-watchers", rights.Watchers), account("system:lm-workers", rights.Workers)},
			line("system:lm", "watch", "", "kymas", "kymas", "", "allow") + line("system:lm-watchers", "watch", "", "kymas", "kymas", "", "allow") +
				line("system:lm-watchers", "list", "", "kymas", "kymas", "", "allow") + line("system:lm-workers", "list", "", "kymas", "kymas", "", "allow"),
			[]string{"unused by workers: watch kymas. , scope namespaces"}, 3,
		},
		"rights that it no longer has": {
			[]rights.Right{settings},
			[]granted.Account{account("system:lm", both...), lost},
			line("system:lm", "get", "", "configmaps", "system", "its-settings", "allow") + line("system:lm", "update", "", "configmaps", "system", "its-settings", "allow"),
			[]string{"unused by watchers: get configmaps. {settings}, scope release", "unused by watchers: update configmaps. {settings}, scope release"}, 0,
		},
		"all rights besides": {
			[]rights.Right{nodes},
			[]granted.Account{admin},
			line("system:lm", "list", "", "nodes", "", "", "allow"),
			[]string{"unused by watchers: list nodes. , scope cluster", "unused by watchers: list nodes.apps , scope cluster", "unused by watchers: list nodes.batch , scope cluster"}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newComparison(tc.listed)
			require.NoError(t, c.read(strings.NewReader(tc.log), tc.accounts))
			require.Equal(t, tc.problems, c.problems())
			require.Equal(t, tc.requests, c.requests)
		})
	}
}

func TestAStreamedListAndAnApplyThatCreatesNeedTwoRights(t *testing.T) {
	all := rights.Right{Scope: rights.ScopeNamespaces, For: []string{rights.Workers}, APIGroups: []string{""}, Resources: []string{"kymas"}, Verbs: []string{"list", "watch", "create", "patch"}}
	c := newComparison([]rights.Right{all})
	streamed := strings.Replace(line("system:lm", "watch", "", "kymas", "kymas", "", "allow"), `"verb"`, `"requestURI":"/kymas?sendInitialEvents=true","verb"`, 1)
	applied := strings.Replace(line("system:lm", "patch", "", "kymas", "kymas", "x", "allow"), `"verb"`, `"responseStatus":{"code":201},"verb"`, 1)
	require.NoError(t, c.read(strings.NewReader(streamed+applied), []granted.Account{account("system:lm", rights.Workers)}))
	require.Empty(t, c.problems())
	require.Equal(t, 4, c.total)
}
