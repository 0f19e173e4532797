// Package tree shows Kymas and their modules as a tree for people.
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

// firstModulesWithin is how soon after a Kyma its first Manifests are there, even if a new cluster is slow to
// answer. A module with a younger Manifest was asked for later, and its time counts from then.
const firstModulesWithin = 30 * time.Second

// Kyma is what is shown of one Kyma, as a tree or as JSON.
type Kyma struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	UID       types.UID    `json:"-"`
	State     shared.State `json:"state"`
	// Message is what was last done or waited for, or the error.
	Message string `json:"message,omitempty"`
	// Hint says what can be done about Message.
	Hint string `json:"hint,omitempty"`
	// Workflow says why its workflow makes no progress until somebody helps, and how to help; empty if it does.
	Workflow string `json:"workflow,omitempty"`
	// WaitsForChange is true where it cannot become Ready before somebody changes something.
	WaitsForChange bool   `json:"waitsForChange,omitempty"`
	Channel        string `json:"channel,omitempty"`
	ModulesReady   string `json:"modulesReady,omitempty"`
	// Conditions are those that are not True, by their messages.
	Conditions []string `json:"conditions,omitempty"`
	// Remote is where the remote Kyma is and in which cluster; nil without one.
	Remote *Remote   `json:"remote,omitempty"`
	Since  time.Time `json:"creationTimestamp"`
	// Age is as of now; ReadyAfter is how long it took from the Kyma's creation to its present Ready, 0 while it is not.
	Age        time.Duration `json:"-"`
	ReadyAfter time.Duration `json:"-"`
	Modules    []Module      `json:"modules"`
}

// Remote is what is shown of a Kyma's cluster.
type Remote struct {
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Unreachable says why it does not answer; empty while it does.
	Unreachable string `json:"unreachableReason,omitempty"`
}

// Module is what is shown of one module.
type Module struct {
	Name    string       `json:"name"`
	Version string       `json:"version,omitempty"`
	Channel string       `json:"channel,omitempty"`
	State   shared.State `json:"state"`
	Message string       `json:"message,omitempty"`
	// Hint says what can be done about Message.
	Hint string `json:"hint,omitempty"`
	// Installed is the version that was last applied completely.
	Installed string `json:"installedVersion,omitempty"`
	Manifest  string `json:"manifest,omitempty"`
	// Objects counts the module's objects; nil while unknown.
	Objects *v1beta2.ObjectCounts `json:"objects,omitempty"`
	// ReadyAfter is how long it took from the Kyma's creation to the module's present Ready.
	ReadyAfter time.Duration `json:"-"`
}

// Of works out what to show of a Kyma and its Manifests at the given moment.
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
				// Ready again, after a later change: the time since the Kyma's creation would say nothing.
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
		// After an upgrade the time of the first installation is not known any more.
		return view
	}
	if manifest.CreationTimestamp.Sub(created) > firstModulesWithin {
		// The module was asked for later than the Kyma.
		created = manifest.CreationTimestamp.Time
	}
	view.ReadyAfter = readyAfter(created, m.State, manifest.Status.Conditions, shared.ConditionInstallation)
	return view
}

// readyAfter is the time from creation to the transition of the condition that says that all is ready.
func readyAfter(created time.Time, state shared.State, conditions []metav1.Condition, kind shared.ConditionType) time.Duration {
	condition := meta.FindStatusCondition(conditions, string(kind))
	if state != shared.StateReady || condition == nil || condition.Status != metav1.ConditionTrue {
		return 0
	}
	return max(condition.LastTransitionTime.Sub(created), time.Second)
}

// Ready tells whether the Kyma and all its modules are Ready.
func (k Kyma) Ready() bool {
	return k.State == shared.StateReady && !slices.ContainsFunc(k.Modules, func(m Module) bool { return m.State != shared.StateReady })
}
