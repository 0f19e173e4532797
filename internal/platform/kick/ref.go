// Package kick is what watchers, workflows and activities agree on in order to wake each other:
// the identity of an entity, the ids of its workflow, the signals, and the sender.
//
// It is the lowest package that knows of Temporal, so that an activity that has written a status can
// signal a workflow without importing any workflow code.
package kick

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ref is the identity of one custom resource: name and namespace say where it is, the UID says which one.
// Two resources of the same name, one after the other, are two different entities.
type Ref struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// RefOf returns the identity of an object that was read from an API server.
func RefOf(obj client.Object) Ref {
	return Ref{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID()}
}

// Key is the namespaced name, for reads.
func (r Ref) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// String is namespace/name, for messages to people.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// Names under which the workflows are registered. They are part of recorded histories: never rename one.
const (
	KymaWorkflow  = "KymaWorkflow"
	SweepWorkflow = "SweepWorkflow"
	// WatcherWorkflow sets up the routing of one Watcher, CertificatesWorkflow rotates the authorities of agents and listener.
	WatcherWorkflow      = "WatcherWorkflow"
	CertificatesWorkflow = "CertificatesWorkflow"
	// RolloutWorkflow rolls one version of a module out to the clusters of a channel.
	RolloutWorkflow = "RolloutWorkflow"
)

// Workflows are the names of all workflows that an instance has.
func Workflows() []string {
	return []string{KymaWorkflow, SweepWorkflow, WatcherWorkflow, CertificatesWorkflow, RolloutWorkflow}
}

// KymaWorkflowID is the id of the workflow of one Kyma (docs/design/workflows-and-signals.md#workflows).
func KymaWorkflowID(r Ref) string { return entityID("kyma", r) }

// WatcherWorkflowID is the id of the workflow of one Watcher.
func WatcherWorkflowID(r Ref) string { return entityID("watcher", r) }

// RolloutWorkflowID is the id of the workflow of one ModuleRollout.
func RolloutWorkflowID(r Ref) string { return entityID("rollout", r) }

// CertificatesWorkflowID is the id of the one workflow that rotates authorities.
const CertificatesWorkflowID = "certificates"

// SweepWorkflowID is the id of the workflow that walks one shard of the fleet.
func SweepWorkflowID(shard int) string { return fmt.Sprintf("sweep/%02d", shard) }

func entityID(kind string, r Ref) string {
	return kind + "/" + r.Namespace + "/" + r.Name + "/" + string(r.UID)
}

// Task queues. Each has worker slots of its own, so that slow remote clusters never starve the control plane.
const (
	ControlPlaneQueue = "lifecycle-manager-control-plane"
	RemoteQueue       = "lifecycle-manager-remote"
	SweepQueue        = "lifecycle-manager-sweep"
	BackgroundQueue   = "lifecycle-manager-background"
	FollowQueue       = "lifecycle-manager-follow"
)
