package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/registry/statecheck"
)

// The patterns and lengths are the same as in the API's schema
// (docs/contract.md#resources).
const (
	maxComponentName = 255
	maxModuleName    = 64
	maxVersion       = 32
	maxChannel       = 32
	reservedChannel  = "none"
)

// Problem is one error or warning about the configuration.
type Problem struct {
	// Field is the path of the field, such as resources[1].link.
	Field string
	// Message says what is wrong and how to correct it.
	Message string
}

// Check returns everything in the configuration that the API would refuse, and
// all contradictions. It reads no other file.
func (m Module) Check() []Problem {
	var problems problemList
	m.checkNames(&problems)
	m.checkSources(&problems)
	m.checkRelease(&problems)
	m.checkAnnotations(&problems)
	m.checkLinks(&problems)
	m.checkState(&problems)
	if m.modulectl {
		for i := range problems {
			problems[i].Field = fieldOfModulectl(problems[i].Field)
		}
	}
	return problems
}

type problemList []Problem

func (l *problemList) add(field, format string, arguments ...any) {
	*l = append(*l, Problem{Field: field, Message: fmt.Sprintf(format, arguments...)})
}

func (m Module) checkNames(problems *problemList) {
	componentName := regexp.MustCompile(`^[a-z][-a-z0-9]*([.][a-z][-a-z0-9]*)*[.][a-z]{2,}(/[a-z][-a-z0-9_]*([.][a-z][-a-z0-9_]*)*)+$`)
	switch {
	case m.Name == "":
		problems.add("name", "is missing: the name of the OCM component, such as kyma-project.io/module/sample")
	case len(m.Name) > maxComponentName:
		problems.add("name", "has %d characters; at most %d are allowed", len(m.Name), maxComponentName)
	case !componentName.MatchString(m.Name):
		problems.add("name", "%q is not a component name: use a DNS name and at least one path segment in lower case, such as kyma-project.io/module/sample", m.Name)
	}
	moduleName := regexp.MustCompile(`^[a-z]{3,}(-[a-z]{3,})*$`)
	switch {
	case m.ModuleName == "":
		problems.add("moduleName", "is missing: the name that a Kyma lists, such as sample")
	case len(m.ModuleName) > maxModuleName:
		problems.add("moduleName", "has %d characters; at most %d are allowed", len(m.ModuleName), maxModuleName)
	case !moduleName.MatchString(m.ModuleName):
		problems.add("moduleName", "%q is not a module name: use words of at least three letters a-z, joined by '-'", m.ModuleName)
	}
	if m.Version == "" {
		problems.add("version", "is missing: a semantic version such as 1.0.0")
	} else {
		checkVersion(problems, "version", m.Version)
	}
}

// checkVersion applies the rules of the API's schema: a semantic version without
// a leading v and without build metadata.
func checkVersion(problems *problemList, field, version string) {
	parsed, err := semver.StrictNewVersion(version)
	switch {
	case err != nil:
		problems.add(field, "%q is not a semantic version such as 1.0.0 or 1.0.0-rc.1: %v", version, err)
	case parsed.Metadata() != "":
		problems.add(field, "%q has build metadata (+%s), which a registry tag cannot contain", version, parsed.Metadata())
	case len(version) > maxVersion:
		problems.add(field, "%q has %d characters; at most %d are allowed", version, len(version), maxVersion)
	}
}

func (m Module) checkSources(problems *problemList) {
	switch {
	case len(m.Manifest) == 0 && m.Chart == "":
		problems.add("manifest", "is missing: set either manifest or chart")
	case len(m.Manifest) > 0 && m.Chart != "":
		problems.add("chart", "excludes manifest: set only one of them")
	}
	if m.Values != "" && m.Chart == "" {
		problems.add("values", "need a chart, but chart is not set")
	}
	if m.ClusterScoped && m.DefaultCR == "" {
		problems.add("clusterScoped", "describes the default custom resource, but defaultCR is not set")
	}
	if m.Target != "" && m.Target != v1beta2.TargetControlPlane && m.Target != v1beta2.TargetRemote {
		problems.add("target", "%q is neither %q nor %q", m.Target, v1beta2.TargetControlPlane, v1beta2.TargetRemote)
	}
}

func (m Module) checkRelease(problems *problemList) {
	if m.Mandatory && len(m.Channels) > 0 {
		problems.add("channels", "a mandatory module has no channels: every cluster gets it")
	}
	for i, text := range m.Channels {
		if _, err := ParseChannel(text, m.Version); err != nil {
			problems.add(fmt.Sprintf("channels[%d]", i), "%v", err)
		}
	}
}

func (m Module) checkAnnotations(problems *problemList) {
	if _, err := shared.IsHotFix(m.Annotations); err != nil {
		problems.add(fmt.Sprintf("annotations[%s]", shared.AnnotationPriority), "%v", err)
	}
}

func (m Module) checkLinks(problems *problemList) {
	checkLink := func(field, link string) {
		if parsed, err := url.Parse(link); err != nil || parsed.Scheme == "" {
			problems.add(field, "%q is not a URL such as https://example.com/file", link)
		}
	}
	if m.Info != nil {
		if m.Info.Repository != "" {
			checkLink("info.repository", m.Info.Repository)
		}
		if m.Info.Documentation != "" {
			checkLink("info.documentation", m.Info.Documentation)
		}
		for i, icon := range m.Info.Icons {
			if icon.Name == "" {
				problems.add(fmt.Sprintf("info.icons[%d].name", i), "is missing")
			}
			checkLink(fmt.Sprintf("info.icons[%d].link", i), icon.Link)
		}
	}
	seen := map[string]bool{}
	for i, resource := range m.Resources {
		switch {
		case resource.Name == "":
			problems.add(fmt.Sprintf("resources[%d].name", i), "is missing")
		case seen[resource.Name]:
			problems.add(fmt.Sprintf("resources[%d].name", i), "%q occurs twice", resource.Name)
		}
		seen[resource.Name] = true
		checkLink(fmt.Sprintf("resources[%d].link", i), resource.Link)
	}
}

func (m Module) checkState(problems *problemList) {
	if m.Manager != nil {
		if m.Manager.Kind == "" || m.Manager.Version == "" || m.Manager.Name == "" {
			problems.add("manager", "needs group, version, kind and name")
		}
	}
	for i, kind := range m.AssociatedResources {
		if kind.Kind == "" || kind.Version == "" {
			problems.add(fmt.Sprintf("associatedResources[%d]", i), "needs group, version and kind")
		}
	}
	for i, check := range m.CustomStateChecks {
		field := fmt.Sprintf("customStateChecks[%d]", i)
		if check.JSONPath == "" || check.Value == "" {
			problems.add(field, "needs jsonPath and value")
		}
		if _, err := statecheck.Parse(check.JSONPath); check.JSONPath != "" && err != nil {
			problems.add(field+".jsonPath", "%v", err)
		}
		switch check.MappedState {
		case "Ready", "Processing", "Warning", "Error", "Deleting":
		default:
			problems.add(field+".mappedState", "%q is none of Ready, Processing, Warning, Error, Deleting", check.MappedState)
		}
	}
	if len(m.CustomStateChecks) > 0 && m.DefaultCR == "" {
		problems.add("customStateChecks", "need a default custom resource, but defaultCR is not set")
	}
}

// Channel is a channel and its version.
type Channel struct {
	Name, Version string
}

// ParseChannel parses NAME or NAME=VERSION. The given version is the default.
func ParseChannel(text, version string) (Channel, error) {
	name, other, explicit := strings.Cut(text, "=")
	if explicit {
		version = other
	}
	switch {
	case !regexp.MustCompile(`^[a-z]{3,}$`).MatchString(name) || len(name) > maxChannel:
		return Channel{}, fmt.Errorf("channel %q: use a name of 3 to %d letters a-z", text, maxChannel)
	case name == reservedChannel:
		return Channel{}, fmt.Errorf("channel %q: the name %q is reserved", text, reservedChannel)
	}
	if explicit {
		var problems problemList
		checkVersion(&problems, "version", version)
		if len(problems) > 0 {
			return Channel{}, fmt.Errorf("channel %q: %s", text, problems[0].Message)
		}
	}
	return Channel{Name: name, Version: version}, nil
}
