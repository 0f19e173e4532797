// Package desired works out, without touching anything, what a Kyma asks for: whether and where it is
// synchronized, which channel and modules are wanted, which templates and release metas can answer for
// them, and a digest over all of that.
//
// Watchers, the sweep and the activities use the same functions, so that they agree on whether a Kyma
// needs another reconcile.
package desired

import (
	"cmp"
	"slices"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Mode says where modules without further wishes are installed (docs/contract.md#generations).
type Mode string

const (
	// ModeControlPlane manages remote clusters: sync is on unless a Kyma says otherwise.
	ModeControlPlane Mode = "control-plane"
	// ModeSingleCluster manages the cluster that Lifecycle Manager runs in: sync is off unless a Kyma
	// says otherwise.
	ModeSingleCluster Mode = "single-cluster"
)

// Settings are the flags of an instance that decide what a Kyma means. The zero value is completed by
// WithDefaults.
type Settings struct {
	// Mode is ModeControlPlane by default.
	Mode Mode
	// SyncNamespace is the remote namespace of Kymas that do not set `.spec.sync` (`--sync-namespace`).
	SyncNamespace string
	// RemoteKymaName is the name of the remote Kyma where `.spec.sync` is unset (`--remote-kyma-name`).
	RemoteKymaName string
	// Namespaces are the only ones whose Kymas, Manifests, ModuleTemplates, ModuleReleaseMetas and access Secrets this
	// instance knows (`--namespaces`); none means all. It decides about no Manifest, so it is no part of Digest.
	Namespaces []string
	// AccessSecretNamespace is where the access Secret is looked up when the Kyma's namespace has none
	// (`--access-secret-namespace`); empty means nowhere else.
	AccessSecretNamespace string
	// ManagedBy is the value of the label `managed-by` on what this instance works on. The instance whose
	// value is `lifecycle-manager` is the default instance, which also takes what has no such label.
	ManagedBy string
	// ControllerName is the name of the controller that module entries and templates may ask for
	// (`--controller-name`); one that asks for none is always served.
	ControllerName string
	// AllowControlPlaneModules permits modules to be installed into the control plane's own cluster in
	// ModeControlPlane (`--allow-control-plane-modules`).
	AllowControlPlaneModules bool
	// ImagePullSecret is the name of the Secret in the namespace kcp-system that every remote cluster gets
	// (`--skr-image-pull-secret`); empty means none.
	ImagePullSecret string
	// RestrictedModules are the modules that only Kymas selected by the `kymaSelector` of their release
	// meta may have (`--restricted-default-modules`).
	RestrictedModules []string
	// InjectingModules are the modules whose Secrets may ask for the data of Secrets in the namespace kcp-system
	// (`--inject-data-from-kcp-modules`). It is no part of Digest, since only Kymas with these modules depend on it.
	InjectingModules []string
	// DescriptorRepository is where component descriptors and layers are that templates do not embed:
	// `<registry>[/<subpath>]` of `--oci-registry-host` and `--modules-repository-subpath`.
	DescriptorRepository string
	// Purge says when the deletion of a Kyma is forced. It decides about no Manifest, so it is no part of Digest.
	Purge PurgeSettings
	// PacingSpan is the span over which a change of what many Kymas share reaches them
	// (`--module-upgrade-rollout-max-delay`); zero is at once. It is no part of Digest either.
	PacingSpan time.Duration
	// Watching says how events come from remote clusters.
	Watching Watching
	// StateRule says whose state is a module's state (`--module-state-from`). It decides about no Manifest's spec, so it is
	// no part of Digest.
	StateRule shared.StateRule
}

// Injects reports whether the Secrets of a module may ask for the data of Secrets in the control plane.
func (s Settings) Injects(module string) bool { return slices.Contains(s.InjectingModules, module) }

// LocalClientAllowed tells whether Kymas may be synchronized by strategy `local-client`.
func (s Settings) LocalClientAllowed() bool {
	return s.WithDefaults().Mode != ModeControlPlane || s.AllowControlPlaneModules
}

// WithDefaults returns the settings with what is empty filled in.
func (s Settings) WithDefaults() Settings {
	s.Mode = cmp.Or(s.Mode, ModeControlPlane)
	s.SyncNamespace = cmp.Or(s.SyncNamespace, shared.NamespaceRemote)
	s.RemoteKymaName = cmp.Or(s.RemoteKymaName, shared.DefaultRemoteKymaName)
	s.ManagedBy = cmp.Or(s.ManagedBy, shared.ManagedByLifecycleManager)
	return s
}

// Digest changes whenever a flag changes that could lead to other Manifests. It is part of every Kyma's
// inputs digest, so that a restart with the same flags wakes nobody.
func (s Settings) Digest() string {
	s = s.WithDefaults()
	restricted := slices.Sorted(slices.Values(s.RestrictedModules))
	return DigestOf("settings", s.Mode, s.SyncNamespace, s.RemoteKymaName, s.ManagedBy, s.ControllerName,
		s.AllowControlPlaneModules, restricted, s.DescriptorRepository, s.ImagePullSecret)
}

// isDefaultInstance tells whether this instance takes what carries no `managed-by` label.
func (s Settings) isDefaultInstance() bool {
	return s.ManagedBy == "" || s.ManagedBy == shared.ManagedByLifecycleManager
}

// Ours tells whether an object with these labels belongs to this instance (`managed-by`,
// docs/contract.md#labels).
func (s Settings) Ours(labels map[string]string) bool {
	value, labelled := labels[shared.LabelManagedBy]
	if !labelled || value == "" {
		return s.isDefaultInstance()
	}
	return value == s.WithDefaults().ManagedBy
}

// Serves tells whether this instance is the controller of that name. No name means any controller.
func (s Settings) Serves(controller string) bool {
	return controller == "" || controller == s.ControllerName
}
