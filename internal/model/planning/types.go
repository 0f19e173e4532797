package planning

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// Action says what to do about one module's Manifest.
type Action string

const (
	// ActionKeep: the Manifest is as wanted, or must stay as it is.
	ActionKeep Action = "Keep"
	// ActionCreate: there is no Manifest yet.
	ActionCreate Action = "Create"
	// ActionUpdate: the Manifest differs from the wanted one.
	ActionUpdate Action = "Update"
	// ActionWait: a Manifest of that name is still being deleted. A new one is created after that.
	ActionWait Action = "Wait"
	// ActionRemove: the Manifest must be deleted, because this Kyma may no longer have the module.
	ActionRemove Action = "Remove"
	// ActionNone: there is no Manifest, and none should be created.
	ActionNone Action = "None"
)

// ModulePlan is the plan for one module entry.
type ModulePlan struct {
	// Name is the entry's name.
	Name string
	// Module is the entry.
	Module v1beta2.Module
	// Channel, Version, Component and Template are the resolved entry, as far as it could be resolved.
	Channel, Version, Component string
	Template                    *v1beta2.TrackedObject
	Action                      Action
	// Existing is the entry's present Manifest; nil if there is none.
	Existing *v1beta2.Manifest
	// Manifest is the Manifest to write; nil if nothing should be written.
	Manifest *v1beta2.Manifest
	// Refusal says why the entry does not get what it asks for; nil if it does.
	Refusal *versions.Refusal
	// Mandatory is true for a module that every Kyma has. No entry lists it.
	Mandatory bool
	// Window is set while an upgrade waits for a maintenance window. The installed version stays.
	Window *Wait
	// Deferred is set while an upgrade waits because the Kyma's owner deferred it. The installed version stays.
	Deferred *Deferred
	// HeldBack says why a mandatory module in a rollout does not get the rollout's version.
	HeldBack *rollout.HeldBack
	// Guarded is set while a removal waits for approval, because the change that causes it would remove too much at
	// once. The installed version stays.
	Guarded *GuardedRemoval
	// Chosen is the chosen template, and ReleaseMeta the release meta of its module. Both are shared with the catalog
	// and must not be changed.
	Chosen      *v1beta2.ModuleTemplate
	ReleaseMeta *v1beta2.ModuleReleaseMeta
	// RemovalApproved is true if the change that removes the module was approved.
	RemovalApproved bool
	// AffectedKymas is how many Kymas lose the module by the same change.
	AffectedKymas int
	// Orphan is the Manifest that an earlier Kyma of this name left. If it is for the same cluster, the Kyma adopts it
	// (Adopts). Otherwise it makes room for a new one.
	Orphan *v1beta2.Manifest
	Adopts bool
	// Destination is the target of the Manifest in this plan; nil if the plan does not decide it.
	Destination *Destination
	// Record is the record of the Manifest in this plan. Nil means that an earlier record stays.
	Record *v1beta2.PlannedManifest
}

// Request has all inputs of a plan. Plan only reads it.
type Request struct {
	Kyma     *v1beta2.Kyma
	Settings desired.Settings
	Wanted   desired.Wanted
	Catalog  desired.Catalog
	// Manifests are all Manifests of this Kyma, by label and owner uid.
	Manifests []v1beta2.Manifest
	// Foreign are Manifests with the Kyma's name in their label that belong to an earlier Kyma of the same name.
	Foreign []v1beta2.Manifest
	// Delisted are the candidates of modules that are no longer listed and are being removed.
	Delisted desired.Catalog
	// Describe returns the descriptor of a chosen template. An error that wraps ErrDescriptor, or a fault of kind
	// Rejected, needs a change. Any other error may go away.
	Describe func(template *v1beta2.ModuleTemplate, component, version string) (*versions.Descriptor, error)
	// Owners returns the Manifests of all Kymas for a component. Owners is nil if there are no other Kymas.
	Owners func(component string) ([]v1beta2.Manifest, error)
	// DefaultCR returns the default custom resource (as JSON) from a layer of a component, for templates that have
	// none. DefaultCR is nil if layers like this do not count. Its errors are like those of Describe.
	DefaultCR func(layer v1beta2.ImageSpec) ([]byte, error)
	// Window returns whether this Kyma's modules may be down now. Window is nil if no upgrade ever waits.
	Window func() Wait
	// Now is when the plan is made.
	Now time.Time
	// Agent is the desired state of the agent in the remote cluster.
	Agent Agent
	// Pinned returns the candidates of an entry that pins a version, whatever versions the channels have. Plan calls it
	// only for modules that are installed and not recorded. It may be nil.
	Pinned func(module v1beta2.Module) desired.Catalog
	// Signed is true if Describe accepts only signed descriptors.
	Signed bool
	// Known returns the names of all modules that this Kyma may have, for suggestions about mistyped names. It may be
	// nil.
	Known func() []string
}

// Plans are the result of Plan.
type Plans struct {
	// Modules are the plans of the wanted modules, and Mandatory the plans of the mandatory modules, ordered by name.
	Modules, Mandatory []ModulePlan
	// Unwanted are the Manifests that no entry wants any more.
	Unwanted []*v1beta2.Manifest
	// Uncertain are Manifests that no entry names any more, but that an unknown entry might mean.
	Uncertain []*v1beta2.Manifest
	// UpgradesInRemoval are plans of modules that are no longer listed. A newer version may be able to finish their
	// removal.
	UpgradesInRemoval []ModulePlan
	// NotMandatory are the Manifests of modules that were mandatory and that nothing in the catalog makes mandatory
	// now.
	NotMandatory []*v1beta2.Manifest
	// Unknown are the Manifests that no plan ever had. Nothing is installed for them.
	Unknown []*v1beta2.Manifest
}
