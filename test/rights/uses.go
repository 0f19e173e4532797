package main

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/test/rights/granted"
)

// use is one verb on one resource under a right, by one role: the smallest thing that can be granted in vain.
type use struct {
	right int
	role  string
	// The others are numbers in the lists of the right.
	group, resource, verb int
}

// request is what an account was allowed to do.
type request struct {
	verb, group, resource, namespace, name string
	// everywhere is whether it was about no namespace, or all.
	everywhere bool
}

// requestsOf are what a right is needed for to have the request of an event allowed.
func requestsOf(e event) []request {
	r := request{e.Verb, e.ObjectRef.APIGroup, e.resource(), e.ObjectRef.Namespace, e.ObjectRef.Name, e.ObjectRef.Namespace == "" || e.ObjectRef.Resource == "namespaces"}
	all := []request{r}
	switch {
	case e.Verb == "watch" && strings.Contains(e.RequestURI, "sendInitialEvents=true"):
		r.verb = "list" // A list that is streamed; API servers before 1.32 are asked for a LIST instead.
	case e.Verb == "patch" && e.ResponseStatus.Code == http.StatusCreated:
		r.verb = "create" // An apply of what was not there, for which the API server wants both rights.
	default:
		return all
	}
	return append(all, r)
}

// usesOf are the uses that a request shows of an account with all these rights: none where several rights allow it, for
// each of them could then be missing.
func usesOf(listed []rights.Right, accounts []granted.Account, r request) ([]use, error) {
	var by []use
	for _, account := range accounts {
		if account.Everything {
			return nil, nil
		}
		for number, right := range listed {
			resolved, applies, err := right.In(account.Instance)
			if err != nil {
				return nil, err
			}
			if !applies || !allows(resolved, account.Namespaces[right.Scope], r) {
				continue
			}
			if len(by) > 0 && by[0].right != number {
				return nil, nil
			}
			by = append(by, use{number, roleOf(right, account.Instance), slices.Index(right.APIGroups, r.group), slices.Index(right.Resources, r.resource), slices.Index(right.Verbs, r.verb)})
		}
	}
	// What a ClusterRole grants could be in a Role, if it was only used in namespaces of the account.
	isWithin := !r.everywhere && slices.ContainsFunc(accounts, func(account granted.Account) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(account.Namespaces)), func(of []string) bool { return slices.Contains(of, r.namespace) })
	})
	return slices.DeleteFunc(by, func(u use) bool {
		return u.role == "" || listed[u.right].Scope == rights.ScopeCluster && isWithin
	}), nil
}

// allows tells whether a right in these namespaces allows a request. A name that is not given is that of a LIST or WATCH
// by a selector, or of what is created.
func allows(right rights.Right, namespaces []string, r request) bool {
	return slices.Contains(right.APIGroups, r.group) && slices.Contains(right.Resources, r.resource) && slices.Contains(right.Verbs, r.verb) &&
		(right.Scope == rights.ScopeCluster || slices.Contains(namespaces, r.namespace)) &&
		(len(right.ResourceNames) == 0 || slices.Contains(right.ResourceNames, r.name))
}

// roleOf is the role by which an account uses a right; empty where it has it by both.
func roleOf(right rights.Right, instance rights.Instance) string {
	common := slices.DeleteFunc(slices.Clone(right.For), func(role string) bool { return !slices.Contains(instance.Roles, role) })
	if len(common) != 1 {
		return ""
	}
	return common[0]
}
