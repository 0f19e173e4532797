package descriptor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Expectations holds what the ModuleTemplate and the ModuleReleaseMeta require of the component version. Empty fields
// require nothing.
type Expectations struct {
	// Version is the version of the module. A leading v does not count.
	Version string
	// Module is the name of the module, from `.spec.moduleName`.
	Module string
	// Component is the name of the component.
	Component string
	// Fetched says that the descriptor came from a registry, so its blobs are in the same repository. Otherwise the
	// descriptor must name a repository.
	Fetched bool
}

// Validate returns the reasons why a component version does not meet the expectations, or cannot be installed. The
// paths are in the descriptor.
func Validate(d *Descriptor, expected Expectations) field.ErrorList {
	problems := d.disagreements(expected)
	contents, unusable := d.Contents()
	problems = append(problems, unusable...)
	if len(problems) == 0 && !expected.Fetched && d.Repository == "" && contents.NeedRepository() {
		problems = append(problems, field.Required(d.schema.repositoryContexts(), fmt.Sprintf(
			"component %s: no repositoryContexts name the repository of its resources", d.Component)))
	}
	return problems
}

func (d *Descriptor) disagreements(expected Expectations) field.ErrorList {
	var problems field.ErrorList
	metadata := d.schema.metadata()
	if expected.Version != "" && !sameVersion(expected.Version, d.Version) {
		problems = append(problems, field.Invalid(metadata.Child("version"), short(d.Version), fmt.Sprintf(
			"the ModuleTemplate has version %s, but its component %s has version %s", expected.Version, d.Component, d.Version)))
	}
	if expected.Component != "" && expected.Component != d.Component {
		problems = append(problems, field.Invalid(metadata.Child("name"), short(d.Component), fmt.Sprintf(
			"the ModuleTemplate is for component %s, but its descriptor is for %s", expected.Component, d.Component)))
	}
	if named := moduleOf(d.Component); expected.Module != "" && named != "" && named != expected.Module {
		problems = append(problems, field.Invalid(metadata.Child("name"), short(d.Component), fmt.Sprintf(
			"the ModuleTemplate is for module %s, but its component is for module %s", expected.Module, named)))
	}
	return problems
}

var moduleName = regexp.MustCompile(`^[a-z]{3,}(-[a-z]{3,})*$`)

// moduleOf returns the module of a component by convention: the last segment of the component's name. It returns an
// empty string if that segment is not a valid module name (`.spec.moduleName` of a ModuleTemplate allows fewer
// characters). The component may then belong to any module.
func moduleOf(component string) string {
	last := component[strings.LastIndex(component, "/")+1:]
	if !moduleName.MatchString(last) {
		return ""
	}
	return last
}

func sameVersion(a, b string) bool {
	return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v")
}

// NeedRepository reports whether a blob is in the component's repository.
func (c Contents) NeedRepository() bool {
	return slices.ContainsFunc([]*Part{&c.Install, c.Config, c.DefaultCR}, func(part *Part) bool {
		return part != nil && part.Registry == ""
	})
}
