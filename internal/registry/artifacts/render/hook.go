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

// Hook is an object of a chart that is run at a certain moment instead of being kept
// (https://helm.sh/docs/topics/charts_hooks/). An object with hooks before and after is there twice.
type Hook struct {
	// Object is the hook's, with its annotations.
	Object *unstructured.Unstructured
	// Before is set where it runs before the chart's objects are applied, else it runs after that.
	Before bool
	// Install and Upgrade tell when it runs; one of them or both are set.
	Install, Upgrade bool
	// Weight orders the hooks of one moment, the lowest first. Rendered.Hooks are in order.
	Weight int
	// DeleteOnSuccess removes the hook once it is done. What an earlier run left is removed before the hook is created
	// anew in any case, as is Helm's default, and a hook that failed stays, so that one can see why.
	DeleteOnSuccess bool
}

// hooksOf reads what the annotations of an object say. There is none where it is a hook that is never run by us:
// of deletion, rollback and tests, or of an event that Helm does not know, which Helm leaves out too.
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
		// Like Helm: a weight that is no number is none.
		h.Weight, _ = strconv.Atoi(annotations[release.HookWeightAnnotation])
		h.readPolicies(annotations[release.HookDeleteAnnotation])
		hooks = append(hooks, h)
	}
	if len(hooks) == 2 {
		hooks[1].Object = u.DeepCopy()
	}
	return hooks
}

// NeverRuns reports whether a chart's object is a hook that is left out at the installation.
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

// sortHooks orders hooks as Helm runs them: those before, then those after; by weight, then by name, and of one name
// by kind. (Helm's documentation has kind before name; its code sorts by kind first and then anew by weight and name.)
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

// kindRank is the place of a kind in the order of an installation; unknown ones come last.
func kindRank(kind string) int {
	if at := slices.Index(releaseutil.InstallOrder, kind); at >= 0 {
		return at
	}
	return len(releaseutil.InstallOrder)
}
