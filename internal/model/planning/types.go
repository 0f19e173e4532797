package planning

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// Action says what is to be done about one module's Manifest.
type Action string

const (
	// ActionKeep: it is as wanted, or must stay as it is.
	ActionKeep Action = "Keep"
	// ActionCreate: there is none.
	ActionCreate Action = "Create"
	// ActionUpdate: it differs.
	ActionUpdate Action = "Update"
	// ActionWait: one of that name is still being deleted; it is created again after that.
	ActionWait Action = "Wait"
	// ActionRemove: it is to be deleted, because this Kyma may no longer have the module.
	ActionRemove Action = "Remove"
	// ActionNone: there is none, and none is to be made.
	ActionNone Action = "None"
)

// ModulePlan says what one module entry leads to.
type ModulePlan struct {
	// Name is the entry's name.
	Name string
	// Module is the entry.
	Module v1beta2.Module
	// Channel, Version, Component and Template are what the entry means, as far as it could be found out.
	Channel, Version, Component string
	Template                    *v1beta2.TrackedObject
	Action                      Action
	// Existing is the entry's Manifest as it is; nil when there is none.
	Existing *v1beta2.Manifest
	// Manifest is as it is to be; nil when nothing is to be written.
	Manifest *v1beta2.Manifest
	// Refusal says why the entry does not get what it asks for; nil when it does.
	Refusal *versions.Refusal
	// Mandatory is true for a module that every Kyma has; no entry lists it.
	Mandatory bool
	// Window is set while an upgrade waits for a maintenance window; what is installed stays.
	Window *Wait
	// Deferred is set while an upgrade waits because the Kyma's owner put it off; what is installed stays.
	Deferred *Deferred
	// HeldBack says of a mandatory module in a rollout why it does not get the rollout's version.
	HeldBack *rollout.HeldBack
	// Guarded is set while a removal waits for approval, for the change that causes it would remove too much at once; what is
	// installed stays.
	Guarded *GuardedRemoval
	// Chosen is what was chosen, and ReleaseMeta the release meta of its module; they are shared with the catalog.
	Chosen      *v1beta2.ModuleTemplate
	ReleaseMeta *v1beta2.ModuleReleaseMeta
	// RemovalApproved is true if somebody approved the change that removes the module.
	RemovalApproved bool
	// AffectedKymas is how many Kymas lose the module by the same change.
	AffectedKymas int
	// Orphan is the Manifest that an earlier Kyma of this name left. The Kyma adopts it where it is for the same cluster;
	// else it makes room for a new one.
	Orphan *v1beta2.Manifest
	Adopts bool
	// Destination is where the Manifest goes as it is planned; nil where that stays open.
	Destination *Destination
	// Record is the Manifest as this plan decided it. Nil means that an earlier decision about it stays.
	Record *v1beta2.PlannedManifest
}

// Request is all that a plan is made from. Plan reads it and changes nothing of it.
type Request struct {
	Kyma     *v1beta2.Kyma
	Settings desired.Settings
	Wanted   desired.Wanted
	Catalog  desired.Catalog
	// Manifests are all of this Kyma, by label and owner uid.
	Manifests []v1beta2.Manifest
	// Foreign are Manifests with the Kyma's name in their label that are not this Kyma's: those of an
	// earlier Kyma of the same name.
	Foreign []v1beta2.Manifest
	// Delisted are the candidates of modules that nobody lists any more and that are being removed.
	Delisted desired.Catalog
	// Describe returns the descriptor of what was chosen. An error that wraps ErrDescriptor, or is a
	// rejected fault, needs a change; any other may go away.
	Describe func(template *v1beta2.ModuleTemplate, component, version string) (*versions.Descriptor, error)
	// Owners returns the Manifests of all Kymas for a component; nil where there are no others.
	Owners func(component string) ([]v1beta2.Manifest, error)
	// DefaultCR returns the default custom resource (as JSON) that is a layer of a component, for templates that give
	// none. Nil when such layers do not count. Errors are like those of Describe.
	DefaultCR func(layer v1beta2.ImageSpec) ([]byte, error)
	// Window says whether a module of this Kyma may be down now; nil when no upgrade ever waits.
	Window func() Wait
	// Now is when the plan is made.
	Now time.Time
	// Agent is what the agent in the remote cluster is to be.
	Agent Agent
	// Pinned returns what answers for an entry that names a version, whichever the channels have; nil if nothing does. It is
	// asked only for what is installed and not recorded.
	Pinned func(module v1beta2.Module) desired.Catalog
	// Signed is true if Describe accepts nothing but signed descriptors.
	Signed bool
	// Known returns the names of all modules that this Kyma may have; nil where nobody knows. It is asked only for
	// what a mistyped name may have meant.
	Known func() []string
}

// Plans are what follows from a Request.
type Plans struct {
	// Modules are the plans of the wanted modules, and Mandatory those of the mandatory ones, ordered by name.
	Modules, Mandatory []ModulePlan
	// Unwanted are the Manifests that no entry wants any more.
	Unwanted []*v1beta2.Manifest
	// Uncertain are those that no entry names any more, but that an entry which nothing is known about might mean.
	Uncertain []*v1beta2.Manifest
	// UpgradesInRemoval are plans of modules that nobody lists any more and whose removal a newer version may bring to an end.
	UpgradesInRemoval []ModulePlan
	// NotMandatory are the Manifests of modules that were mandatory and of which nothing in the catalog says so now.
	NotMandatory []*v1beta2.Manifest
	// Unknown are the Manifests that no plan ever had. Nothing is installed for them.
	Unknown []*v1beta2.Manifest
}
