package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Hook is an object of a chart that runs at a certain time instead of staying in the cluster
// (https://helm.sh/docs/topics/charts_hooks/). An object with both before and after hooks yields two Hooks.
type Hook struct {
	// Object is the hook's object, with its annotations.
	Object *unstructured.Unstructured
	// Before says that the hook runs before the chart's objects are applied. Otherwise it runs after them.
	Before bool
	// Install and Upgrade say when the hook runs. At least one of them is set.
	Install, Upgrade bool
	// Weight orders the hooks of one time, the lowest first. Rendered.Hooks is sorted.
	Weight int
	// DeleteOnSuccess removes the hook after it succeeded. Like Helm by default, the remains of an earlier run are
	// removed in any case before the hook is created again. A failed hook stays, so that people can find the cause.
	DeleteOnSuccess bool
}

// hooksOf returns the hooks that the annotations of an object define. It returns none for a hook that we never run:
// hooks of deletion, rollback and tests, and hooks with an event that Helm does not know. Helm skips the latter too.
func hooksOf(u *unstructured.Unstructured) []Hook {
	annotations := u.GetAnnotations()
	before, after := Hook{Object: u, Before: true}, Hook{Object: u}
	for event := range strings.SplitSeq(annotations[release.HookAnnotation], ",") {
		switch release.HookEvent(strings.ToLower(strings.TrimSpace(event))) {
		case release.HookPreInstall:
			before.Install = true
		case release.HookPreUpgrade:
			before.Upgrade = true
		case release.HookPostInstall:
			after.Install = true
		case release.HookPostUpgrade:
			after.Upgrade = true
		case release.HookPreDelete, release.HookPostDelete, release.HookPreRollback, release.HookPostRollback, release.HookTest, "test-success":
		default:
			return nil
		}
	}
	var hooks []Hook
	for _, h := range []Hook{before, after} {
		if !h.Install && !h.Upgrade {
			continue
		}
		// Like Helm, ignore an invalid weight.
		h.Weight, _ = strconv.Atoi(annotations[release.HookWeightAnnotation])
		h.readPolicies(annotations[release.HookDeleteAnnotation])
		hooks = append(hooks, h)
	}
	if len(hooks) == 2 {
		hooks[1].Object = u.DeepCopy()
	}
	return hooks
}

// NeverRuns reports whether a chart's object is a hook that the installation leaves out.
func NeverRuns(u *unstructured.Unstructured) bool {
	_, isHook := u.GetAnnotations()[release.HookAnnotation]
	return isHook && len(hooksOf(u)) == 0
}

func (h *Hook) readPolicies(policies string) {
	for policy := range strings.SplitSeq(policies, ",") {
		if release.HookDeletePolicy(strings.ToLower(strings.TrimSpace(policy))) == release.HookSucceeded {
			h.DeleteOnSuccess = true
		}
	}
}

// sortHooks sorts hooks in Helm's order: before hooks, then after hooks; by weight, then by name, then by kind. (Helm's
// documentation puts kind before name; its code sorts by kind first and then again by weight and name.)
func sortHooks(hooks []Hook) {
	slices.SortStableFunc(hooks, func(a, b Hook) int {
		return cmp.Or(
			lists.TrueFirst(a.Before, b.Before),
			cmp.Compare(a.Weight, b.Weight),
			strings.Compare(a.Object.GetName(), b.Object.GetName()),
			cmp.Compare(kindRank(a.Object.GetKind()), kindRank(b.Object.GetKind())),
			strings.Compare(a.Object.GetKind(), b.Object.GetKind()),
		)
	})
}

// kindRank returns the position of a kind in the installation order. Unknown kinds come last.
func kindRank(kind string) int {
	if at := slices.Index(releaseutil.InstallOrder, kind); at >= 0 {
		return at
	}
	return len(releaseutil.InstallOrder)
}
