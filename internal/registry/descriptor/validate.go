package descriptor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Expectations are what the ModuleTemplate and the ModuleReleaseMeta say of the component version. What is empty
// is not expected.
type Expectations struct {
	// Version of the module; a leading v does not count.
	Version string
	// Module is the module's name, as `.spec.moduleName` has it.
	Module string
	// Component is the component's name.
	Component string
	// Fetched is set where the descriptor came from a registry: its blobs are where it was. Else it has to say
	// where they are.
	Fetched bool
}

// Validate says why a component version cannot be what is expected, or cannot be installed; nothing where it
// can. The paths are in the descriptor.
func Validate(d *Descriptor, expected Expectations) field.ErrorList {
	problems := d.disagreements(expected)
	contents, unusable := d.Contents()
	problems = append(problems, unusable...)
	if len(problems) == 0 && !expected.Fetched && d.Repository == "" && contents.NeedRepository() {
		problems = append(problems, field.Required(d.schema.repositoryContexts(), fmt.Sprintf(
			"component %s: no repositoryContexts say where its resources are", d.Component)))
	}
	return problems
}

func (d *Descriptor) disagreements(expected Expectations) field.ErrorList {
	var problems field.ErrorList
	metadata := d.schema.metadata()
	if expected.Version != "" && !sameVersion(expected.Version, d.Version) {
		problems = append(problems, field.Invalid(metadata.Child("version"), short(d.Version), fmt.Sprintf(
			"the ModuleTemplate is of version %s, but its component %s is of version %s", expected.Version, d.Component, d.Version)))
	}
	if expected.Component != "" && expected.Component != d.Component {
		problems = append(problems, field.Invalid(metadata.Child("name"), short(d.Component), fmt.Sprintf(
			"the ModuleTemplate is of component %s, but its descriptor is of %s", expected.Component, d.Component)))
	}
	if named := moduleOf(d.Component); expected.Module != "" && named != "" && named != expected.Module {
		problems = append(problems, field.Invalid(metadata.Child("name"), short(d.Component), fmt.Sprintf(
			"the ModuleTemplate is of module %s, but its component is of module %s", expected.Module, named)))
	}
	return problems
}

var moduleName = regexp.MustCompile(`^[a-z]{3,}(-[a-z]{3,})*$`)

// moduleOf is the module that a component is of by convention: the last segment of its name. It is empty where
// that cannot be a module's name, for those have fewer characters to choose from (`.spec.moduleName` of a
// ModuleTemplate); such a component may be of any module.
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

// NeedRepository tells whether a blob is in the component's repository.
func (c Contents) NeedRepository() bool {
	return slices.ContainsFunc([]*Part{&c.Install, c.Config, c.DefaultCR}, func(part *Part) bool {
		return part != nil && part.Registry == ""
	})
}
