package resolve

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// choice is what one module entry means, before looking into the descriptor.
type choice struct {
	module   v1beta2.Module
	channel  string // that the version was taken from; empty for a pinned version
	version  string // may be empty until the descriptor was read
	template *v1beta2.ModuleTemplate
	meta     *v1beta2.ModuleReleaseMeta // nil where the template's own channel decided
	owner    *v1beta2.ModuleReleaseMeta // that of the template's module, whether it decided or not
	possible []string                   // components that the entry could mean, as far as the catalog tells
	refusal  *Refusal
}

// choose finds the template of a module entry (docs/contract.md#generations): the release meta of that
// module name decides about the version, and the version about the template; without a release meta, a
// template by its module name, else by its own name, else by its component name, each in the entry's
// channel. Anything but exactly one is refused.
func choose(kyma *v1beta2.Kyma, settings desired.Settings, module v1beta2.Module, channel string,
	candidates desired.Candidates,
) choice {
	c := choice{module: module, channel: module.EffectiveChannel(channel), version: module.Version, possible: components(candidates)}
	if !settings.Serves(module.Controller) {
		c.refusal = warn(ReasonOtherController, "module %s asks for the controller %s", module.Name, module.Controller)
		return c
	}
	switch {
	case candidates.OnlyHandMade,
		len(candidates.ReleaseMetas) == 0 && len(candidates.Templates) == 0 && len(candidates.HandMade) > 0:
		c.byHand(candidates.HandMade)
	case len(candidates.ReleaseMetas) == 0:
		c.byTemplate(candidates.Templates)
	case len(candidates.ReleaseMetas) == 1:
		c.meta = candidates.ReleaseMetas[0]
		c.byReleaseMeta(candidates.Templates)
	default:
		c.refusal = refuse(ReasonAmbiguous, "module %s is ambiguous: ModuleReleaseMetas %s are about it",
			module.Name, names(candidates.ReleaseMetas))
	}
	if c.refusal != nil {
		return c
	}
	return c.permitted(kyma, settings, candidates)
}

// byReleaseMeta takes the version from the release meta, and then the template of that version. By
// convention it is named `<module>-<version>` and lives beside the release meta; that one goes first.
func (c *choice) byReleaseMeta(templates []*v1beta2.ModuleTemplate) {
	if c.meta.Spec.Mandatory != nil {
		c.refusal = mandatory(c.module.Name)
		return
	}
	if c.version == "" {
		c.version = desired.VersionFor(c.module, c.channel, c.meta)
	}
	if c.version == "" {
		channels := make([]string, 0, len(c.meta.Spec.Channels))
		for _, assignment := range c.meta.Spec.Channels {
			channels = append(channels, assignment.Channel)
		}
		c.refusal = noVersion(c.channel, c.module.Name, channels)
		return
	}
	c.ofVersion(templates)
}

// ofVersion takes the template of the version that the release meta decided on.
func (c *choice) ofVersion(templates []*v1beta2.ModuleTemplate) {
	matching := ofVersion(templates, c.version)
	beside := slices.DeleteFunc(slices.Clone(matching), func(t *v1beta2.ModuleTemplate) bool {
		return t.Namespace != c.meta.Namespace || t.Name != c.module.Name+"-"+c.version
	})
	if len(beside) == 1 {
		matching = beside
	}
	switch len(matching) {
	case 0:
		c.refusal = refuse(ReasonTemplateNotFound, "no ModuleTemplate found for module %s in version %s",
			c.module.Name, c.version)
	case 1:
		c.template = matching[0]
	default:
		c.refusal = refuse(ReasonAmbiguous, "module %s is ambiguous: ModuleTemplates %s are its version %s",
			c.module.Name, names(matching), c.version)
	}
}

// byTemplate finds the template without a release meta. The first way of being referenced by which there
// is any template is the one that counts, so that a template of another name never steps in for a module
// that merely lacks a channel.
func (c *choice) byTemplate(templates []*v1beta2.ModuleTemplate) {
	meant := referenced(templates, c.module.Name)
	if len(meant) == 0 {
		c.refusal = notFound("nothing in the catalog answers to %s: correct the name, or publish the module", c.module.Name)
		return
	}
	if slices.ContainsFunc(meant, desired.IsMandatory) {
		c.refusal = mandatory(c.module.Name)
		return
	}
	if c.module.Version != "" {
		c.pick(ofVersion(meant, c.module.Version), refuse(ReasonTemplateNotFound,
			"no ModuleTemplate found for module %s in version %s", c.module.Name, c.module.Version))
		return
	}
	var channels []string
	inChannel := slices.DeleteFunc(slices.Clone(meant), func(t *v1beta2.ModuleTemplate) bool {
		if t.Spec.Channel != "" && t.Spec.Channel != shared.ChannelNone {
			channels = append(channels, t.Spec.Channel)
		}
		return t.Spec.Channel != c.channel
	})
	if len(channels) == 0 {
		c.refusal = notFound("the ModuleTemplates %s of module %s are in no channel: publish a ModuleReleaseMeta for it", names(meant), c.module.Name)
		return
	}
	c.pick(inChannel, noVersion(c.channel, c.module.Name, channels))
}

// byHand takes the template of the remote cluster that the entry means, whatever channel it is in.
func (c *choice) byHand(templates []*v1beta2.ModuleTemplate) {
	c.pick(templates, refuse(ReasonTemplateNotFound, "no ModuleTemplate %s found in the remote cluster that may be used for module %s",
		cmp.Or(c.module.RemoteModuleTemplateRef, c.module.Name), c.module.Name))
	if c.template == nil {
		return
	}
	c.channel = c.template.Spec.Channel
	if c.module.Version != "" && c.module.Version != c.version {
		c.refusal = refuse(ReasonTemplateNotFound, "ModuleTemplate %s is not of version %s", cmp.Or(c.module.RemoteModuleTemplateRef, c.module.Name), c.module.Version)
	}
}

func (c *choice) pick(templates []*v1beta2.ModuleTemplate, none *Refusal) {
	switch len(templates) {
	case 0:
		c.refusal = none
	case 1:
		c.template = templates[0]
		c.version = templateVersion(c.template)
	default:
		c.refusal = refuse(ReasonAmbiguous, "module %s is ambiguous: ModuleTemplates %s match it",
			c.module.Name, names(templates))
	}
}

// permitted checks whether this Kyma may have what was chosen, from this instance.
func (c choice) permitted(kyma *v1beta2.Kyma, settings desired.Settings, candidates desired.Candidates) choice {
	controller := c.template.Labels[shared.LabelControllerName]
	owner := candidates.Owner(c.template)
	if owner == nil {
		owner = c.meta // a template that does not say its module is of the one that chose it
	}
	c.owner = owner
	switch {
	case desired.IsMandatory(c.template), owner != nil && owner.Spec.Mandatory != nil:
		c.refusal = mandatory(c.module.Name)
	case !settings.Serves(controller):
		c.refusal = warn(ReasonOtherController, "ModuleTemplate %s is served by the controller %s",
			nameOf(c.template), controller)
	case c.module.Controller != "" && controller != c.module.Controller:
		c.refusal = refuse(ReasonOtherController, "module %s asks for the controller %s, but ModuleTemplate %s has %q",
			c.module.Name, c.module.Controller, nameOf(c.template), controller)
	case isHandMade(c.template):
		// Whoever made it in their own cluster may have it there.
	default:
		c.refusal = denied(kyma, settings, c.template, owner)
	}
	return c
}

// denied refuses a module that this Kyma may not have; nil when it may. The module is removed only where somebody said
// so: not because a selector cannot be read or the instance does not know of it, nor because the release meta is missing
// that could permit it.
func denied(kyma *v1beta2.Kyma, settings desired.Settings, template *v1beta2.ModuleTemplate, owner *v1beta2.ModuleReleaseMeta) *Refusal {
	why := settings.Denied(kyma, template, owner)
	if why == "" {
		return nil
	}
	refusal := refuse(ReasonNotAllowed, "%s", shared.ModuleNotAllowed(why))
	if why == shared.MessageSelectorNotRestricted {
		return refusal.hinted("name the module in --restricted-default-modules, or take the kymaSelector off ModuleReleaseMeta %s", nameOf(owner))
	}
	if owner != nil {
		if _, err := metav1.LabelSelectorAsSelector(owner.Spec.KymaSelector); err != nil {
			return refusal.hinted("the kymaSelector of ModuleReleaseMeta %s cannot be read: %v", nameOf(owner), err)
		}
	}
	refusal.Remove = owner != nil || why != shared.MessageRestrictedModule
	return refusal
}

func isHandMade(template *v1beta2.ModuleTemplate) bool {
	_, handMade := desired.TakenFrom(template)
	return handMade
}

// chooseMandatory finds the template of a mandatory module: a release meta decides about the version, else the
// highest one wins.
func chooseMandatory(module string, settings desired.Settings, candidates desired.Candidates) choice {
	c := choice{module: v1beta2.Module{Name: module}, possible: components(candidates)}
	switch len(candidates.ReleaseMetas) {
	case 0:
		if highest := desired.Highest(candidates.Templates, templateVersion); len(highest) == 1 {
			c.template, c.version = highest[0], templateVersion(highest[0])
		} else {
			c.refusal = refuse(ReasonAmbiguous, "mandatory module %s is ambiguous: ModuleTemplates %s are of its highest version",
				module, names(highest))
		}
	case 1:
		c.meta, c.owner = candidates.ReleaseMetas[0], candidates.ReleaseMetas[0]
		c.version = desired.WithoutBuild(c.meta.Spec.Mandatory.Version)
		c.ofVersion(candidates.Templates)
	default:
		c.refusal = refuse(ReasonAmbiguous, "mandatory module %s is ambiguous: ModuleReleaseMetas %s are about it",
			module, names(candidates.ReleaseMetas))
	}
	if c.template != nil && !settings.Serves(c.template.Labels[shared.LabelControllerName]) {
		c.refusal = warn(ReasonOtherController, "ModuleTemplate %s is served by the controller %s",
			nameOf(c.template), c.template.Labels[shared.LabelControllerName])
	}
	return c
}

// components are those that the candidates of an entry are of.
func components(candidates desired.Candidates) []string {
	var all []string
	for _, meta := range candidates.ReleaseMetas {
		all = append(all, meta.Spec.OCMComponentName)
	}
	for _, template := range append(slices.Clone(candidates.Templates), candidates.HandMade...) {
		all = append(all, desired.EmbeddedComponent(template))
	}
	return all
}

// referenced returns the templates that a name means, by the first of the ways in which it means any.
func referenced(templates []*v1beta2.ModuleTemplate, name string) []*v1beta2.ModuleTemplate {
	ways := []func(*v1beta2.ModuleTemplate) bool{
		func(t *v1beta2.ModuleTemplate) bool {
			return t.Labels[shared.LabelModuleName] == name || t.Spec.ModuleName == name ||
				t.Spec.Version != "" && t.Name == name+"-"+t.Spec.Version
		},
		func(t *v1beta2.ModuleTemplate) bool { return t.Name == name || nameOf(t) == name },
		func(t *v1beta2.ModuleTemplate) bool { return desired.EmbeddedComponent(t) == name },
	}
	for _, way := range ways {
		var meant []*v1beta2.ModuleTemplate
		for _, template := range templates {
			if way(template) {
				meant = append(meant, template)
			}
		}
		if len(meant) > 0 {
			return meant
		}
	}
	return nil
}

func ofVersion(templates []*v1beta2.ModuleTemplate, version string) []*v1beta2.ModuleTemplate {
	var matching []*v1beta2.ModuleTemplate
	for _, template := range templates {
		if v := templateVersion(template); v == version || v == "" {
			matching = append(matching, template)
		}
	}
	return matching
}

// templateVersion is the version that a template says it is of, itself or in its descriptor.
func templateVersion(template *v1beta2.ModuleTemplate) string {
	if template.Spec.Version != "" {
		return template.Spec.Version
	}
	return embeddedVersion(template)
}

func mandatory(module string) *Refusal {
	return refuse(ReasonMandatory, "module %s is mandatory: every cluster has it, and it cannot be listed", module)
}

// notFound refuses an entry that nothing is known of; the hint is formatted like fmt.Sprintf.
func notFound(hint string, args ...any) *Refusal {
	return refuse(ReasonNotFound, "%s", shared.MessageNoModuleReleaseMeta).hinted(hint, args...)
}

func noVersion(channel, module string, channels []string) *Refusal {
	slices.Sort(channels)
	channels = slices.Compact(channels)
	refusal := refuse(ReasonNoVersionForChannel, "%s", shared.NoVersionsForChannel(channel, module))
	if len(channels) == 0 {
		return refusal.hinted("module %s is in no channel: add one to its ModuleReleaseMeta, or pin a version", module)
	}
	return refusal.hinted("%smodule %s is in %s: choose one of these channels", didYouMean(channel, channels), module, strings.Join(channels, ", "))
}

func nameOf(object interface {
	GetNamespace() string
	GetName() string
},
) string {
	return object.GetNamespace() + "/" + object.GetName()
}

func names[T interface {
	GetNamespace() string
	GetName() string
}](objects []T) string {
	all := make([]string, 0, len(objects))
	for _, object := range objects {
		all = append(all, nameOf(object))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
