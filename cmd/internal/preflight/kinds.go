package preflight

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kinds "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// NeededKind is a kind of another project that the control plane must serve.
type NeededKind struct {
	kinds.GroupVersionKind
	// Subject is the project of the kind, Flag the flag that requires it, and Remedy what can be done if it is missing.
	Subject, Flag, Remedy string
}

// KindFacts is a required kind, and whether it is served.
type KindFacts struct {
	NeededKind
	Served bool
	Err    error
}

// askForKinds checks which kinds are served. Every authenticated user may ask that.
func askForKinds(needed []NeededKind, api discovery.ServerResourcesInterface) []KindFacts {
	all := make([]KindFacts, 0, len(needed))
	for _, each := range needed {
		facts := KindFacts{NeededKind: each}
		served, err := api.ServerResourcesForGroupVersion(each.GroupVersion().String())
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			facts.Err = err
		default:
			facts.Served = slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == each.Kind })
		}
		all = append(all, facts)
	}
	return all
}

// judgeKinds reports for each required kind whether it is served. The rights to read and write it are checked
// separately.
func judgeKinds(facts []KindFacts) []Finding {
	findings := make([]Finding, 0, len(facts))
	for _, each := range facts {
		name := fmt.Sprintf("%s of %s", each.Kind, each.GroupVersion())
		switch {
		case each.Err != nil:
			findings = append(findings, doubtful(each.Subject, "", "check whether the control plane serves %s: %s", name, each.Err))
		case !each.Served:
			findings = append(findings, bad(each.Subject, each.Remedy, "%s needs %s, which the control plane does not serve", each.Flag, name))
		default:
			findings = append(findings, good(each.Subject, "%s is served", name))
		}
	}
	return findings
}
