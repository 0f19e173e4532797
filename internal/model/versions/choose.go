// Package versions decides which ModuleTemplate a module entry of a Kyma means. It has no side effects: it works on the
// candidates that package desired has read from the catalog.
//
// Choose is for listed modules. It takes the version for the entry's channel from the ModuleReleaseMeta, and then the
// ModuleTemplate of that version. ChooseMandatory does the same for mandatory modules. Both return a Choice. If a
// module gets no template, the Choice has a Refusal that says why, and a hint that says what to do.
//
// While a rollout is in force, it decides about the version, see desired.Candidates.VersionIn.
package versions

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Choice is the meaning of one module entry, before its descriptor is read.
type Choice struct {
	Module         v1beta2.Module
	Channel        string // channel of the version; empty for a pinned version
	Version        string // may be empty before the descriptor is read
	Template       *v1beta2.ModuleTemplate
	ReleaseMeta    *v1beta2.ModuleReleaseMeta // nil if the template's own channel decided
	OwnReleaseMeta *v1beta2.ModuleReleaseMeta // the release meta of the template's module, even if it did not decide
	TakesBack      bool                       // whether a rollout reverts the Kyma to an older version
	InRollout      bool                       // whether rollouts decide about the version
	Deferral       rollout.Deferral           // how long the Kyma's owner defers the version
	Possible       []string                   // components that the entry may mean according to the catalog
	Refusal        *Refusal
}

// Choose finds the template of a module entry (docs/contract.md#generations). If there is a release meta for that
// module name, it decides about the version, and the version about the template. Without a release meta, Choose
// searches by module name, then by template name, then by component name, each in the entry's channel. It refuses the
// entry unless exactly one template matches.
//
// Installed is the version that the Kyma has, or empty. It matters only while a rollout decides.
func Choose(kyma *v1beta2.Kyma, settings desired.Settings, module v1beta2.Module, channel string,
	candidates desired.Candidates, installed string,
) Choice {
	c := Choice{Module: module, Channel: module.EffectiveChannel(channel), Version: module.Version, Possible: components(candidates)}
	if !settings.Serves(module.Controller) {
		c.Refusal = Warn(ReasonOtherController, "module %s asks for the controller %s", module.Name, module.Controller)
		return c
	}
	switch {
	case candidates.OnlyUserProvided,
		len(candidates.ReleaseMetas) == 0 && len(candidates.Templates) == 0 && len(candidates.UserProvided) > 0:
		c.userProvided(candidates.UserProvided)
	case len(candidates.ReleaseMetas) == 0:
		c.byTemplate(candidates.Templates)
	case len(candidates.ReleaseMetas) == 1:
		c.ReleaseMeta = candidates.ReleaseMetas[0]
		c.byReleaseMeta(kyma, candidates, installed)
	default:
		c.Refusal = Refuse(ReasonAmbiguous, "module %s is ambiguous: ModuleReleaseMetas %s all describe it",
			module.Name, names(candidates.ReleaseMetas))
	}
	if c.Refusal != nil {
		return c
	}
	return c.permitted(kyma, settings, candidates)
}

// byReleaseMeta takes the version from the release meta, and then the template of that version.
func (c *Choice) byReleaseMeta(kyma *v1beta2.Kyma, candidates desired.Candidates, installed string) {
	if c.ReleaseMeta.Spec.Mandatory != nil {
		c.Refusal = mandatory(c.Module.Name)
		return
	}
	if c.Version == "" {
		if assigned := desired.VersionFor(c.Module, c.Channel, c.ReleaseMeta); assigned != "" {
			decision := candidates.VersionIn(assigned, kyma, installed)
			c.Version, c.TakesBack = decision.Version, decision.TakesBack
			if !c.TakesBack && c.Version != installed {
				c.Deferral = deferralOf(kyma, c.Module.Name, installed, candidates.Rollouts)
			}
		}
	}
	if c.Version == "" {
		channels := lists.Map(c.ReleaseMeta.Spec.Channels, func(assignment v1beta2.ChannelVersion) string { return assignment.Channel })
		c.Refusal = noVersion(c.Channel, c.Module.Name, channels)
		return
	}
	c.ofVersion(candidates.Templates)
}

// ofVersion takes the template of the version that the release meta decided on. A template in the release meta's
// namespace with the conventional name `<module>-<version>` goes first.
func (c *Choice) ofVersion(templates []*v1beta2.ModuleTemplate) {
	matching := ofVersion(templates, c.Version)
	beside := slices.DeleteFunc(slices.Clone(matching), func(t *v1beta2.ModuleTemplate) bool {
		return t.Namespace != c.ReleaseMeta.Namespace || t.Name != c.Module.Name+"-"+c.Version
	})
	if len(beside) == 1 {
		matching = beside
	}
	switch len(matching) {
	case 0:
		c.Refusal = noTemplate(c.Module.Name, c.Version)
	case 1:
		c.Template = matching[0]
	default:
		c.Refusal = Refuse(ReasonAmbiguous, "module %s is ambiguous: ModuleTemplates %s all have its version %s",
			c.Module.Name, names(matching), c.Version)
	}
}

// byTemplate finds the template without a release meta. The search stops at the first step that finds any template. So
// a template with another name never stands in for a module that merely lacks a channel.
func (c *Choice) byTemplate(templates []*v1beta2.ModuleTemplate) {
	meant := referenced(templates, c.Module.Name)
	if len(meant) == 0 {
		c.Refusal = notFound("the catalog has no module %s: correct the name, or publish the module", c.Module.Name)
		return
	}
	if slices.ContainsFunc(meant, desired.IsMandatory) {
		c.Refusal = mandatory(c.Module.Name)
		return
	}
	if c.Module.Version != "" {
		c.pick(ofVersion(meant, c.Module.Version), noTemplate(c.Module.Name, c.Module.Version))
		return
	}
	var channels []string
	inChannel := slices.DeleteFunc(slices.Clone(meant), func(t *v1beta2.ModuleTemplate) bool {
		if t.Spec.Channel != "" && t.Spec.Channel != shared.ChannelNone {
			channels = append(channels, t.Spec.Channel)
		}
		return t.Spec.Channel != c.Channel
	})
	if len(channels) == 0 {
		c.Refusal = notFound("the ModuleTemplates %s of module %s are in no channel: publish a ModuleReleaseMeta for it", names(meant), c.Module.Name)
		return
	}
	c.pick(inChannel, noVersion(c.Channel, c.Module.Name, channels))
}

// userProvided takes the template of the remote cluster that the entry means, whatever its channel.
func (c *Choice) userProvided(templates []*v1beta2.ModuleTemplate) {
	c.pick(templates, Refuse(ReasonTemplateNotFound, "no usable ModuleTemplate %s found in the remote cluster for module %s",
		cmp.Or(c.Module.RemoteModuleTemplateRef, c.Module.Name), c.Module.Name))
	if c.Template == nil {
		return
	}
	c.Channel = c.Template.Spec.Channel
	if c.Module.Version != "" && c.Module.Version != c.Version {
		c.Refusal = Refuse(ReasonTemplateNotFound, "ModuleTemplate %s does not have version %s", cmp.Or(c.Module.RemoteModuleTemplateRef, c.Module.Name), c.Module.Version)
	}
}

func (c *Choice) pick(templates []*v1beta2.ModuleTemplate, none *Refusal) {
	switch len(templates) {
	case 0:
		c.Refusal = none
	case 1:
		c.Template = templates[0]
		c.Version = desired.TemplateVersion(c.Template)
	default:
		c.Refusal = Refuse(ReasonAmbiguous, "module %s is ambiguous: ModuleTemplates %s all match it",
			c.Module.Name, names(templates))
	}
}

// permitted checks whether this Kyma may have the chosen template, from this instance.
func (c Choice) permitted(kyma *v1beta2.Kyma, settings desired.Settings, candidates desired.Candidates) Choice {
	controller := c.Template.Labels[shared.LabelControllerName]
	owner := candidates.Owner(c.Template)
	if owner == nil {
		owner = c.ReleaseMeta // a template that does not name its module belongs to the release meta that chose it
	}
	c.OwnReleaseMeta = owner
	switch {
	case desired.IsMandatory(c.Template), owner != nil && owner.Spec.Mandatory != nil:
		c.Refusal = mandatory(c.Module.Name)
	case !settings.Serves(controller):
		c.Refusal = Warn(ReasonOtherController, "ModuleTemplate %s is served by the controller %s",
			desired.NameOf(c.Template), controller)
	case c.Module.Controller != "" && controller != c.Module.Controller:
		c.Refusal = Refuse(ReasonOtherController, "module %s asks for the controller %s, but ModuleTemplate %s has %q",
			c.Module.Name, c.Module.Controller, desired.NameOf(c.Template), controller)
	case IsUserProvided(c.Template):
		// The owner of a remote cluster may use a template of their own there.
	default:
		c.Refusal = denied(kyma, settings, c.Template, owner)
	}
	return c
}

// denied refuses a module that this Kyma may not have. It returns nil if the Kyma may have it. The refusal removes an
// installed module only if the catalog or the settings clearly deny it. It does not remove the module if a selector is
// invalid, if the module is missing in the list of restricted modules, or if the release meta that could permit it is
// missing.
func denied(kyma *v1beta2.Kyma, settings desired.Settings, template *v1beta2.ModuleTemplate, owner *v1beta2.ModuleReleaseMeta) *Refusal {
	why := settings.Denied(kyma, template, owner)
	if why == "" {
		return nil
	}
	refusal := Refuse(ReasonNotAllowed, "%s", shared.ModuleNotAllowed(why))
	if why == shared.MessageSelectorNotRestricted {
		return refusal.WithHint("name the module in --restricted-default-modules, or take the kymaSelector off ModuleReleaseMeta %s", desired.NameOf(owner))
	}
	if owner != nil {
		if _, err := metav1.LabelSelectorAsSelector(owner.Spec.KymaSelector); err != nil {
			return refusal.WithHint("the kymaSelector of ModuleReleaseMeta %s is invalid: %v", desired.NameOf(owner), err)
		}
	}
	refusal.Remove = owner != nil || why != shared.MessageRestrictedModule
	return refusal
}

// IsUserProvided reports whether a template is a copy of a template in a remote cluster.
func IsUserProvided(template *v1beta2.ModuleTemplate) bool {
	_, imported := desired.ImportedFrom(template)
	return imported
}

// ChooseMandatory finds the template of a mandatory module. If there is a release meta, it decides about the version.
// Otherwise the highest version wins.
func ChooseMandatory(kyma *v1beta2.Kyma, module string, settings desired.Settings, candidates desired.Candidates, installed string) Choice {
	c := Choice{Module: v1beta2.Module{Name: module}, Possible: components(candidates)}
	switch len(candidates.ReleaseMetas) {
	case 0:
		if highest := desired.Highest(candidates.Templates, desired.TemplateVersion); len(highest) == 1 {
			c.Template, c.Version = highest[0], desired.TemplateVersion(highest[0])
		} else {
			c.Refusal = Refuse(ReasonAmbiguous, "mandatory module %s is ambiguous: ModuleTemplates %s all have its highest version",
				module, names(highest))
		}
	case 1:
		c.ReleaseMeta, c.OwnReleaseMeta = candidates.ReleaseMetas[0], candidates.ReleaseMetas[0]
		decision := candidates.VersionIn(desired.WithoutBuild(c.ReleaseMeta.Spec.Mandatory.Version), kyma, installed)
		c.Version, c.TakesBack, c.InRollout = decision.Version, decision.TakesBack, len(candidates.Rollouts) > 0
		c.ofVersion(candidates.Templates)
	default:
		c.Refusal = Refuse(ReasonAmbiguous, "mandatory module %s is ambiguous: ModuleReleaseMetas %s all describe it",
			module, names(candidates.ReleaseMetas))
	}
	if c.Template != nil && !settings.Serves(c.Template.Labels[shared.LabelControllerName]) {
		c.Refusal = Warn(ReasonOtherController, "ModuleTemplate %s is served by the controller %s",
			desired.NameOf(c.Template), c.Template.Labels[shared.LabelControllerName])
	}
	return c
}

// components returns the components of all candidates.
func components(candidates desired.Candidates) []string {
	var all []string
	for _, meta := range candidates.ReleaseMetas {
		all = append(all, meta.Spec.OCMComponentName)
	}
	for _, template := range append(slices.Clone(candidates.Templates), candidates.UserProvided...) {
		all = append(all, desired.EmbeddedComponent(template))
	}
	return all
}

// referenced returns the templates that a name refers to, by the first kind of reference that matches any.
func referenced(templates []*v1beta2.ModuleTemplate, name string) []*v1beta2.ModuleTemplate {
	ways := []func(*v1beta2.ModuleTemplate) bool{
		func(t *v1beta2.ModuleTemplate) bool {
			return t.Labels[shared.LabelModuleName] == name || t.Spec.ModuleName == name ||
				t.Spec.Version != "" && t.Name == name+"-"+t.Spec.Version
		},
		func(t *v1beta2.ModuleTemplate) bool { return t.Name == name || desired.NameOf(t) == name },
		func(t *v1beta2.ModuleTemplate) bool { return desired.EmbeddedComponent(t) == name },
	}
	for _, way := range ways {
		meant := lists.Filter(templates, way)
		if len(meant) > 0 {
			return meant
		}
	}
	return nil
}

func ofVersion(templates []*v1beta2.ModuleTemplate, version string) []*v1beta2.ModuleTemplate {
	return lists.Filter(templates, func(template *v1beta2.ModuleTemplate) bool {
		v := desired.TemplateVersion(template)
		return v == version || v == ""
	})
}

func mandatory(module string) *Refusal {
	return Refuse(ReasonMandatory, "module %s is mandatory: every cluster has it, and it cannot be listed", module)
}

// notFound refuses an entry for which the catalog has nothing. The hint is formatted like fmt.Sprintf.
func notFound(hint string, args ...any) *Refusal {
	return Refuse(ReasonNotFound, "%s", shared.MessageNoModuleReleaseMeta).WithHint(hint, args...)
}

// noTemplate refuses a version that has no template.
func noTemplate(module, version string) *Refusal {
	name := module + "-" + version
	return Refuse(ReasonTemplateNotFound, "%s", shared.ModuleTemplateNotFound(name)).
		WithHint("no ModuleTemplate found for module %s in version %s: publish ModuleTemplate %s", module, version, name)
}

func noVersion(channel, module string, channels []string) *Refusal {
	slices.Sort(channels)
	channels = slices.Compact(channels)
	refusal := Refuse(ReasonNoVersionForChannel, "%s", shared.NoVersionsForChannel(channel, module))
	if len(channels) == 0 {
		return refusal.WithHint("module %s is in no channel: add one to its ModuleReleaseMeta, or pin a version", module)
	}
	return refusal.WithHint("%smodule %s is in %s: choose one of these channels", DidYouMean(channel, channels), module, strings.Join(channels, ", "))
}

// names lists objects for messages, by namespace and name.
func names[T metav1.Object](objects []T) string {
	all := lists.Map(objects, func(object T) string { return desired.NameOf(object) })
	slices.Sort(all)
	return strings.Join(all, ", ")
}
