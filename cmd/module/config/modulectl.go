package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// modulectl is the configuration file of modulectl (https://github.com/kyma-project/modulectl), the module tool of
// Kyma's own Lifecycle Manager, with the fields of its versions so far.
type modulectl struct {
	Name                string                     `json:"name"`
	Version             string                     `json:"version"`
	Channel             string                     `json:"channel"`
	Manifest            string                     `json:"manifest"`
	DefaultCR           string                     `json:"defaultCR"`
	Repository          string                     `json:"repository"`
	ModuleRepo          string                     `json:"moduleRepo"`
	Documentation       string                     `json:"documentation"`
	Icons               links                      `json:"icons"`
	Resources           links                      `json:"resources"`
	Labels              map[string]string          `json:"labels"`
	Annotations         map[string]string          `json:"annotations"`
	Manager             *v1beta2.Manager           `json:"manager"`
	AssociatedResources []v1beta2.GroupVersionKind `json:"associatedResources"`
	RequiresDowntime    bool                       `json:"requiresDowntime"`
	Mandatory           bool                       `json:"mandatory"`
	Internal            bool                       `json:"internal"`
	Beta                bool                       `json:"beta"`
	Namespace           string                     `json:"namespace"`

	// These have no meaning here.
	Team                string `json:"team"`
	Security            string `json:"security"`
	SecurityScanEnabled *bool  `json:"securityScanEnabled"`
	ResourceName        string `json:"resourceName"`
}

// isModulectl tells whether top-level fields are those of modulectl: it has no moduleName, and others that we do not have.
func isModulectl(fields map[string]json.RawMessage) bool {
	if _, ours := fields["moduleName"]; ours {
		return false
	}
	for _, theirs := range []string{
		"repository", "moduleRepo", "documentation", "icons", "team", "security", "securityScanEnabled", "channel", "resourceName",
	} {
		if _, ok := fields[theirs]; ok {
			return true
		}
	}
	return false
}

// module is the same module as we describe it.
func (m modulectl) module() Module {
	module := Module{
		Name: m.Name, ModuleName: path.Base(m.Name), Version: m.Version, DefaultCR: m.DefaultCR,
		Namespace: m.Namespace, Mandatory: m.Mandatory, Beta: m.Beta, Internal: m.Internal, RequiresDowntime: m.RequiresDowntime,
		Manager: m.Manager, AssociatedResources: m.AssociatedResources, Labels: m.Labels, Annotations: m.Annotations,
		modulectl: true,
	}
	if m.Name == "" {
		module.ModuleName = ""
	}
	if m.Manifest != "" {
		module.Manifest = Paths{m.Manifest}
	}
	if m.Channel != "" {
		module.Channels = []string{m.Channel}
	}
	repository := m.Repository
	if repository == "" {
		repository = m.ModuleRepo
	}
	if repository != "" || m.Documentation != "" || len(m.Icons) > 0 {
		module.Info = &v1beta2.ModuleInfo{Repository: repository, Documentation: m.Documentation}
		for _, icon := range m.Icons {
			module.Info.Icons = append(module.Info.Icons, v1beta2.ModuleIcon(icon))
		}
	}
	for _, resource := range m.Resources {
		module.Resources = append(module.Resources, v1beta2.Resource(resource))
	}
	// As modulectl has it, who inspects the module finds its manifest.
	const rawManifest = "raw-manifest"
	if IsURL(m.Manifest) && !slices.ContainsFunc(m.Resources, func(l link) bool { return l.Name == rawManifest }) {
		module.Resources = append(module.Resources, v1beta2.Resource{Name: rawManifest, Link: m.Manifest})
	}
	module.warnings = m.warnings()
	return module
}

// warnings name what is set and has no meaning here.
func (m modulectl) warnings() []Problem {
	var warnings problemList
	if m.ResourceName != "" {
		warnings.add("resourceName", "has no meaning here: a ModuleTemplate has the name of the module and its version, by which a ModuleReleaseMeta finds it")
	}
	if m.Team != "" {
		warnings.add("team", "has no meaning here: no team is written into the component version")
	}
	if m.Security != "" {
		warnings.add("security", "has no meaning here: the file is not read, and no labels for security scanners are written into the component version")
	}
	if m.SecurityScanEnabled != nil && *m.SecurityScanEnabled {
		warnings.add("securityScanEnabled", "has no meaning here: no labels for security scanners are written into the component version")
	}
	for field, source := range map[string]string{"manifest": m.Manifest, "defaultCR": m.DefaultCR} {
		if strings.HasPrefix(source, "http://") {
			warnings.add(field, "is fetched without TLS: whoever is on the way may change it")
		}
	}
	slices.SortStableFunc(warnings, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return warnings
}

// fieldOfModulectl is what a field of ours is called there.
func fieldOfModulectl(field string) string {
	switch {
	case field == "moduleName":
		return "name"
	case strings.HasPrefix(field, "channels["):
		return "channel"
	}
	return strings.TrimPrefix(field, "info.")
}

// IsURL tells whether a file is to be fetched by HTTP.
func IsURL(source string) bool {
	parsed, err := url.Parse(source)
	return err == nil && (parsed.Scheme == "https" || parsed.Scheme == "http") && parsed.Host != ""
}

// links are names with addresses: a list of name and link, or a map.
type links []link

type link struct {
	Name string `json:"name"`
	Link string `json:"link"`
}

// UnmarshalJSON takes a list or a map.
func (l *links) UnmarshalJSON(data []byte) error {
	var list []link
	if err := json.Unmarshal(data, &list); err == nil {
		*l = list
		return nil
	}
	var byName map[string]string
	if err := json.Unmarshal(data, &byName); err != nil {
		return fmt.Errorf("neither a list of name and link nor a map of names to links: %s", data)
	}
	*l = nil
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		*l = append(*l, link{Name: name, Link: byName[name]})
	}
	return nil
}
