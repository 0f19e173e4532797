// Package desired computes the desired state of a Kyma, without writing anything: whether and where it is synchronized
// (SyncOf), which channel and modules it wants (WantedBy), which templates and release metas may decide about them
// (Gather), and a digest of all these inputs (Inputs.Digest).
//
// Watchers, the sweep and the activities use the same functions, so they agree on whether a Kyma needs another
// reconcile:
//
//	wanted := desired.WantedBy(kyma, desired.SyncOf(kyma, settings))
//	catalog, err := desired.Gather(ctx, index, settings, wanted) // candidates per entry, for package planning
//	digest, err := inputs.Digest(ctx, kyma)                      // equals kyma.Status.InputsDigest: nothing to do
//
// Invariants:
//   - An inputs digest covers everything that decides about a Kyma, and nothing that our own writes change. Its parts
//     stay the same across releases; otherwise an update of Lifecycle Manager would reconcile the whole fleet.
//   - The digest has two parts, see OnlySharedChanged. A change of the part that Kymas share is paced.
//   - The cost of a lookup does not depend on the size of the catalog (Index).
//   - Objects from an Index are shared with the cache and must not be changed.
//   - A Manifest's spec is only a request. Its status, which only we write, decides whether it goes into the control
//     plane's own cluster (target.go).
package desired

import (
	"cmp"
	"slices"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Mode says where modules are installed by default (docs/contract.md#generations).
type Mode string

const (
	// ModeControlPlane manages remote clusters. Synchronization is on unless a Kyma says otherwise.
	ModeControlPlane Mode = "control-plane"
	// ModeSingleCluster manages the cluster that Lifecycle Manager runs in. Synchronization is off unless a Kyma says
	// otherwise.
	ModeSingleCluster Mode = "single-cluster"
)

// Settings are the flags of an instance that decide about the desired state of Kymas. WithDefaults completes the zero
// value.
type Settings struct {
	// Mode is ModeControlPlane by default.
	Mode Mode
	// SyncNamespace is the remote namespace of Kymas that do not set `.spec.sync` (`--sync-namespace`).
	SyncNamespace string
	// RemoteKymaName is the name of the remote Kyma if `.spec.sync` is unset (`--remote-kyma-name`).
	RemoteKymaName string
	// Namespaces limits this instance to Kymas, Manifests, ModuleTemplates, ModuleReleaseMetas and access Secrets in
	// these namespaces (`--namespaces`); none means all. It does not change any Manifest, so it is not part of Digest.
	Namespaces []string
	// AccessSecretNamespace is searched for the access Secret if the Kyma's namespace has none
	// (`--access-secret-namespace`); empty means that no other namespace is searched.
	AccessSecretNamespace string
	// ManagedBy is the value of the label `managed-by` on the objects of this instance. The instance with the value
	// `lifecycle-manager` is the default instance, which also works on objects without the label.
	ManagedBy string
	// ControllerName is the name of the controller that module entries and templates may ask for (`--controller-name`).
	// Entries and templates that name no controller are always served.
	ControllerName string
	// AllowControlPlaneModules permits modules to be installed into the control plane's own cluster in ModeControlPlane
	// (`--allow-control-plane-modules`).
	AllowControlPlaneModules bool
	// ImagePullSecret is the name of the Secret in the namespace kcp-system that every remote cluster gets
	// (`--skr-image-pull-secret`); empty means none.
	ImagePullSecret string
	// RestrictedModules are the modules that only Kymas selected by the `kymaSelector` of the module's release meta may
	// have (`--restricted-default-modules`).
	RestrictedModules []string
	// InjectingModules are the modules with Secrets that may request data of Secrets in the namespace kcp-system
	// (`--inject-data-from-kcp-modules`). It is not part of Digest, because only Kymas with these modules depend on it.
	InjectingModules []string
	// DescriptorRepository is the location of component descriptors and layers that templates do not embed:
	// `<registry>[/<subpath>]` of `--oci-registry-host` and `--modules-repository-subpath`.
	DescriptorRepository string
	// Purge decides when the deletion of a Kyma is forced. It does not change any Manifest, so it is not part of
	// Digest.
	Purge PurgeSettings
	// PacingSpan is the time over which a change of shared inputs reaches all Kymas
	// (`--module-upgrade-rollout-max-delay`); zero means at once. It is not part of Digest either.
	PacingSpan time.Duration
	// Watching says how events come from remote clusters.
	Watching Watching
	// StateRule says which state counts as a module's state (`--module-state-from`). It does not change any Manifest's
	// spec, so it is not part of Digest.
	StateRule shared.StateRule
}

// Injects reports whether the Secrets of a module may request data of Secrets in the control plane.
func (s Settings) Injects(module string) bool { return slices.Contains(s.InjectingModules, module) }

// LocalClientAllowed reports whether Kymas may be synchronized by strategy `local-client`.
func (s Settings) LocalClientAllowed() bool {
	return s.WithDefaults().Mode != ModeControlPlane || s.AllowControlPlaneModules
}

// WithDefaults returns the settings with defaults for empty fields.
func (s Settings) WithDefaults() Settings {
	s.Mode = cmp.Or(s.Mode, ModeControlPlane)
	s.SyncNamespace = cmp.Or(s.SyncNamespace, shared.NamespaceRemote)
	s.RemoteKymaName = cmp.Or(s.RemoteKymaName, shared.DefaultRemoteKymaName)
	s.ManagedBy = cmp.Or(s.ManagedBy, shared.ManagedByLifecycleManager)
	return s
}

// Digest returns a digest of the flags that can change Manifests. It is part of every Kyma's inputs digest. A restart
// with the same flags therefore causes no reconciles.
func (s Settings) Digest() string {
	s = s.WithDefaults()
	restricted := slices.Sorted(slices.Values(s.RestrictedModules))
	return DigestOf("settings", s.Mode, s.SyncNamespace, s.RemoteKymaName, s.ManagedBy, s.ControllerName,
		s.AllowControlPlaneModules, restricted, s.DescriptorRepository, s.ImagePullSecret)
}

// isDefaultInstance reports whether this instance works on objects without the label `managed-by`.
func (s Settings) isDefaultInstance() bool {
	return s.ManagedBy == "" || s.ManagedBy == shared.ManagedByLifecycleManager
}

// Ours reports whether an object with these labels belongs to this instance (`managed-by`, docs/contract.md#labels).
func (s Settings) Ours(labels map[string]string) bool {
	value, labelled := labels[shared.LabelManagedBy]
	if !labelled || value == "" {
		return s.isDefaultInstance()
	}
	return value == s.WithDefaults().ManagedBy
}

// Serves reports whether this instance is the controller of that name. No name means any controller.
func (s Settings) Serves(controller string) bool {
	return controller == "" || controller == s.ControllerName
}
