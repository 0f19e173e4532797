// Package tree shows Kymas and their modules as a tree for people, or as JSON. Of and Fleet hold what is shown; Render
// and WriteJSON write it.
package tree

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// firstModulesWithin is how soon after a Kyma its first Manifests exist, even if a new cluster is slow to answer. A
// module with a later Manifest was added later, and its time counts from the Manifest's creation.
const firstModulesWithin = 30 * time.Second

// Kyma is what is shown of one Kyma, as a tree or as JSON.
type Kyma struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	UID       types.UID    `json:"-"`
	State     shared.State `json:"state"`
	// Message is the last operation, what the Kyma waits for, or the error.
	Message string `json:"message,omitempty"`
	// Hint is what can be done about Message.
	Hint string `json:"hint,omitempty"`
	// Workflow is why the Kyma's workflow makes no progress until somebody intervenes, and how to do so; empty if it
	// makes progress.
	Workflow string `json:"workflow,omitempty"`
	// WaitsForChange is true if the Kyma cannot become Ready before somebody changes something.
	WaitsForChange bool   `json:"waitsForChange,omitempty"`
	Channel        string `json:"channel,omitempty"`
	ModulesReady   string `json:"modulesReady,omitempty"`
	// Conditions holds the messages of the conditions that are not True.
	Conditions []string `json:"conditions,omitempty"`
	// Remote locates the remote Kyma; nil if there is none.
	Remote *Remote   `json:"remote,omitempty"`
	Since  time.Time `json:"creationTimestamp"`
	// Age is the age at the time of Of. ReadyAfter is the time from the Kyma's creation to its present Ready; 0 if it
	// is not Ready.
	Age        time.Duration `json:"-"`
	ReadyAfter time.Duration `json:"-"`
	Modules    []Module      `json:"modules"`
}

// Remote is what is shown of a Kyma's cluster.
type Remote struct {
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Unreachable is why the cluster does not answer; empty if it does.
	Unreachable string `json:"unreachableReason,omitempty"`
}

// Module is what is shown of one module.
type Module struct {
	Name    string       `json:"name"`
	Version string       `json:"version,omitempty"`
	Channel string       `json:"channel,omitempty"`
	State   shared.State `json:"state"`
	Message string       `json:"message,omitempty"`
	// Hint is what can be done about Message.
	Hint string `json:"hint,omitempty"`
	// Installed is the version that was last applied completely.
	Installed string `json:"installedVersion,omitempty"`
	Manifest  string `json:"manifest,omitempty"`
	// Objects counts the module's objects; nil if unknown.
	Objects *v1beta2.ObjectCounts `json:"objects,omitempty"`
	// ReadyAfter is the time from the Kyma's creation to the module's present Ready.
	ReadyAfter time.Duration `json:"-"`
}

// Of returns what to show of a Kyma and its Manifests at the given time.
func Of(kyma *v1beta2.Kyma, manifests []v1beta2.Manifest, now time.Time) Kyma {
	created := kyma.CreationTimestamp.Time
	view := Kyma{
		Namespace: kyma.Namespace, Name: kyma.Name, UID: kyma.UID, Channel: kyma.Status.ActiveChannel, ModulesReady: kyma.Status.ModulesReady,
		State: kyma.Status.State, Since: created, Age: now.Sub(created), Remote: remoteOf(kyma.Status.Remote),
		Modules: []Module{}, WaitsForChange: kyma.Status.WaitsForChange,
		ReadyAfter: readyAfter(created, kyma.Status.State, kyma.Status.Conditions, shared.ConditionModules),
	}
	if view.Channel == "" {
		view.Channel = kyma.Spec.EffectiveChannel()
	}
	if kyma.Status.LastOperation != nil {
		view.Message, view.Hint = kyma.Status.LastOperation.Operation, kyma.Status.LastOperation.Hint
	}
	for _, condition := range kyma.Status.Conditions {
		if condition.Status != metav1.ConditionTrue {
			view.Conditions = append(view.Conditions, condition.Type+": "+condition.Message)
		}
	}
	byName := make(map[string]*v1beta2.Manifest, len(manifests))
	for i := range manifests {
		byName[manifests[i].Name] = &manifests[i]
	}
	for i := range kyma.Status.Modules {
		view.Modules = append(view.Modules, moduleOf(created, &kyma.Status.Modules[i], byName))
	}
	for i := range kyma.Status.Modules {
		if reference := kyma.Status.Modules[i].Manifest; reference != nil {
			m := byName[reference.Metadata.Name]
			if m == nil || m.Generation > 1 || m.CreationTimestamp.Sub(created) > firstModulesWithin {
				// The Kyma is Ready again after a later change, so the time since its creation means nothing.
				view.ReadyAfter = 0
			}
		}
	}
	return view
}

func remoteOf(remote *v1beta2.RemoteStatus) *Remote {
	if remote == nil {
		return nil
	}
	view := &Remote{Cluster: remote.Cluster, Namespace: remote.Namespace, Name: remote.Name}
	if remote.Reachable != nil && !*remote.Reachable {
		view.Unreachable = remote.Reason
	}
	return view
}

func moduleOf(created time.Time, m *v1beta2.ModuleStatus, manifests map[string]*v1beta2.Manifest) Module {
	view := Module{Name: m.Name, Version: m.Version, Channel: m.Channel, State: m.State, Message: m.Message, Hint: m.Hint}
	if m.Manifest == nil {
		return view
	}
	view.Manifest = m.Manifest.Metadata.Name
	manifest, exists := manifests[m.Manifest.Metadata.Name]
	if !exists {
		return view
	}
	view.Installed = manifest.Status.InstalledVersion
	if counts := manifest.Status.Counts; counts != nil && counts.Total > 0 {
		view.Objects = counts.DeepCopy()
	}
	if view.Message == "" && m.State != shared.StateReady && manifest.Status.State == m.State && manifest.Status.LastOperation != nil {
		view.Message, view.Hint = manifest.Status.LastOperation.Operation, manifest.Status.LastOperation.Hint
	}
	if manifest.Generation > 1 {
		// After an upgrade, the time of the first installation is no longer known.
		return view
	}
	if manifest.CreationTimestamp.Sub(created) > firstModulesWithin {
		// The module was added later than the Kyma.
		created = manifest.CreationTimestamp.Time
	}
	view.ReadyAfter = readyAfter(created, m.State, manifest.Status.Conditions, shared.ConditionInstallation)
	return view
}

// readyAfter returns the time from creation to the last transition of the condition that reports readiness.
func readyAfter(created time.Time, state shared.State, conditions []metav1.Condition, kind shared.ConditionType) time.Duration {
	condition := meta.FindStatusCondition(conditions, string(kind))
	if state != shared.StateReady || condition == nil || condition.Status != metav1.ConditionTrue {
		return 0
	}
	return max(condition.LastTransitionTime.Sub(created), time.Second)
}

// Ready reports whether the Kyma and all its modules are Ready.
func (k Kyma) Ready() bool {
	return k.State == shared.StateReady && !slices.ContainsFunc(k.Modules, func(m Module) bool { return m.State != shared.StateReady })
}
