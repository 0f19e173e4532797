// Package kick defines how watchers, workflows and activities wake each other: the identity of an entity (Ref), the ids
// of its workflow, the signals (Kick), and the Sender that delivers them.
//
// It is the lowest package that knows of Temporal. An activity that has written a status can therefore signal a
// workflow without importing workflow code.
package kick

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ref is the identity of one custom resource. If a resource is deleted and another one gets its name, they differ in
// UID and are two entities.
type Ref struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// RefOf returns the identity of an object that an API server returned.
func RefOf(obj client.Object) Ref {
	return Ref{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID()}
}

// Key returns the namespaced name, for reads.
func (r Ref) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// String returns namespace/name, for messages to people.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// Names of the registered workflows. Recorded histories contain them: never rename one.
const (
	KymaWorkflow  = "KymaWorkflow"
	SweepWorkflow = "SweepWorkflow"
	// WatcherWorkflow sets up the routing of one Watcher. CertificatesWorkflow rotates the authorities of agents and
	// listener.
	WatcherWorkflow      = "WatcherWorkflow"
	CertificatesWorkflow = "CertificatesWorkflow"
	// RolloutWorkflow rolls one version of a module out to the clusters of a channel.
	RolloutWorkflow = "RolloutWorkflow"
)

// Workflows returns the names of all workflows of an instance.
func Workflows() []string {
	return []string{KymaWorkflow, SweepWorkflow, WatcherWorkflow, CertificatesWorkflow, RolloutWorkflow}
}

// KymaWorkflowID returns the id of a Kyma's workflow (docs/design/workflows-and-signals.md#workflows).
func KymaWorkflowID(r Ref) string { return entityID("kyma", r) }

// WatcherWorkflowID returns the id of a Watcher's workflow.
func WatcherWorkflowID(r Ref) string { return entityID("watcher", r) }

// RolloutWorkflowID returns the id of a ModuleRollout's workflow.
func RolloutWorkflowID(r Ref) string { return entityID("rollout", r) }

// CertificatesWorkflowID is the id of the only workflow that rotates authorities.
const CertificatesWorkflowID = "certificates"

// SweepWorkflowID returns the id of the workflow that sweeps one shard of the fleet.
func SweepWorkflowID(shard int) string { return fmt.Sprintf("sweep/%02d", shard) }

func entityID(kind string, r Ref) string {
	return kind + "/" + r.Namespace + "/" + r.Name + "/" + string(r.UID)
}

// Task queues. Each has its own worker slots, so that slow remote clusters never starve the control plane.
const (
	ControlPlaneQueue = "lifecycle-manager-control-plane"
	RemoteQueue       = "lifecycle-manager-remote"
	SweepQueue        = "lifecycle-manager-sweep"
	BackgroundQueue   = "lifecycle-manager-background"
	FollowQueue       = "lifecycle-manager-follow"
)
