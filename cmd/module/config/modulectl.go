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
// Kyma's own Lifecycle Manager. It has the fields of all versions so far.
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

	// These fields have no effect here.
	Team                string `json:"team"`
	Security            string `json:"security"`
	SecurityScanEnabled *bool  `json:"securityScanEnabled"`
	ResourceName        string `json:"resourceName"`
}

// isModulectl reports whether the top-level fields come from modulectl: no moduleName, and at least one field that only
// modulectl has.
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

// module converts the configuration.
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
	// Like modulectl, so that the manifest can be found in the ModuleTemplate.
	const rawManifest = "raw-manifest"
	if IsURL(m.Manifest) && !slices.ContainsFunc(m.Resources, func(l link) bool { return l.Name == rawManifest }) {
		module.Resources = append(module.Resources, v1beta2.Resource{Name: rawManifest, Link: m.Manifest})
	}
	module.warnings = m.warnings()
	return module
}

// warnings returns the fields that are set but have no effect, and sources without TLS.
func (m modulectl) warnings() []Problem {
	var warnings problemList
	if m.ResourceName != "" {
		warnings.add("resourceName", "is ignored: a ModuleTemplate is named after its module and version, because a ModuleReleaseMeta finds it by this name")
	}
	if m.Team != "" {
		warnings.add("team", "is ignored: no team is written into the component version")
	}
	if m.Security != "" {
		warnings.add("security", "is ignored: the file is not read, and no labels for security scanners are written into the component version")
	}
	if m.SecurityScanEnabled != nil && *m.SecurityScanEnabled {
		warnings.add("securityScanEnabled", "is ignored: no labels for security scanners are written into the component version")
	}
	for field, source := range map[string]string{"manifest": m.Manifest, "defaultCR": m.DefaultCR} {
		if strings.HasPrefix(source, "http://") {
			warnings.add(field, "is fetched without TLS, so anyone on the network path can change it; use https")
		}
	}
	slices.SortStableFunc(warnings, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return warnings
}

// fieldOfModulectl returns modulectl's name of one of our fields.
func fieldOfModulectl(field string) string {
	switch {
	case field == "moduleName":
		return "name"
	case strings.HasPrefix(field, "channels["):
		return "channel"
	}
	return strings.TrimPrefix(field, "info.")
}

// IsURL reports whether a source is fetched by HTTP.
func IsURL(source string) bool {
	parsed, err := url.Parse(source)
	return err == nil && (parsed.Scheme == "https" || parsed.Scheme == "http") && parsed.Host != ""
}

// links are names with URLs: a list of entries with name and link, or a map.
type links []link

type link struct {
	Name string `json:"name"`
	Link string `json:"link"`
}

// UnmarshalJSON accepts a list or a map.
func (l *links) UnmarshalJSON(data []byte) error {
	var list []link
	if err := json.Unmarshal(data, &list); err == nil {
		*l = list
		return nil
	}
	var byName map[string]string
	if err := json.Unmarshal(data, &byName); err != nil {
		return fmt.Errorf("must be a list of entries with name and link, or a map of names to links: %s", data)
	}
	*l = nil
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		*l = append(*l, link{Name: name, Link: byName[name]})
	}
	return nil
}
