package desired

import (
	"maps"
	"slices"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// ManifestNames are the names that the Manifests of these modules have for a Kyma of this name, by each component that
// the module may be (docs/contract.md#manifest-names).
func (c Catalog) ManifestNames(kyma string) []string {
	var names []string
	for _, entry := range slices.Sorted(maps.Keys(c)) {
		module := entry
		if mandatory, is := mandatoryModule(entry); is {
			module = mandatory
		} else if entry == formerEntry {
			continue
		}
		for _, component := range c[entry].components() {
			names = append(names, shared.ManifestName(kyma, component, module))
		}
	}
	return Recorded(names, nil)
}

// components are those that a module may be.
func (c Candidates) components() []string {
	var all []string
	for _, meta := range c.ReleaseMetas {
		all = append(all, meta.Spec.OCMComponentName)
	}
	for _, template := range slices.Concat(c.Templates, c.UserProvided) {
		all = append(all, EmbeddedComponent(template))
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(component string) bool { return component == "" })
}

// Recorded are the names on record and others, sorted, each once.
func Recorded(names, others []string) []string {
	all := slices.Concat(names, others)
	slices.Sort(all)
	return slices.Compact(all)
}
