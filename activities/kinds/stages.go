package kinds

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stage orders the objects of a module: applied from the first to the last, removed in reverse, so that
// what serves others is there before them and goes after them (docs/design/install-and-drift.md#stages).
type Stage int

const (
	StageNamespaces Stage = iota
	// StageDefinitions are CustomResourceDefinitions; the next stage waits until they are established.
	StageDefinitions
	// StageConfiguration is RBAC, configuration, storage, services: what workloads find when they start.
	StageConfiguration
	stageWorkloads
	// StageAdmission is what the API server calls: webhooks and aggregated APIs. It is removed before
	// the workloads behind it, so that a dead one never blocks the deletion of anything else.
	StageAdmission
	// stageCustomResources is everything else: objects of kinds that somebody defined.
	stageCustomResources

	StageCount
)

// Groups whose kinds have a place of their own.
const (
	GroupAdmission          = "admissionregistration.k8s.io"
	GroupAggregation        = "apiregistration.k8s.io"
	GroupApps               = "apps"
	GroupAutoscaling        = "autoscaling"
	groupBatch              = "batch"
	GroupExtensions         = "apiextensions.k8s.io"
	CRD                     = "CustomResourceDefinition"
	Deployment              = "Deployment"
	Job                     = "Job"
	Namespace               = "Namespace"
	StatefulSet             = "StatefulSet"
	ReplicaSet              = "ReplicaSet"
	Pod                     = "Pod"
	HorizontalPodAutoscaler = "HorizontalPodAutoscaler"
	ValueTrue               = "true"
	PathConversion          = "conversion"
	PathWebhooks            = "webhooks"
	PathCABundle            = "caBundle"
	PathReplicas            = "replicas"
	PathSpec                = "spec"
	PathMetadata            = "metadata"
	PathStatus              = "status"
	PathAnnotations         = "annotations"
	PathLabels              = "labels"
	PathClientConfig        = "clientConfig"
	PathWebhookClient       = "webhook"
)

// StageOf returns the stage of a kind.
func StageOf(kind schema.GroupKind) Stage {
	switch kind.Group {
	case GroupExtensions:
		return StageDefinitions
	case GroupAdmission, GroupAggregation:
		return StageAdmission
	case GroupApps, groupBatch, GroupAutoscaling:
		return stageWorkloads
	case "":
		switch kind.Kind {
		case Namespace:
			return StageNamespaces
		case Pod, "ReplicationController":
			return stageWorkloads
		}
		return StageConfiguration
	}
	if IsBuiltIn(kind) {
		return StageConfiguration
	}
	return stageCustomResources
}

// HealthMatters tells whether an object of this kind can be applied and yet not be ready, so that it must
// be read to know. Of the built-in kinds these are the workloads and what they stand on; of all others
// nothing is known, so they are read too.
//
// An APIService is not among them: that it is available depends on pods and network behind it, which the
// workload's own readiness speaks for, and one that is not must not block its module (nor anything else).
func HealthMatters(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Group: GroupApps, Kind: Deployment},
		schema.GroupKind{Group: GroupApps, Kind: StatefulSet},
		schema.GroupKind{Group: GroupApps, Kind: "DaemonSet"},
		schema.GroupKind{Group: GroupApps, Kind: ReplicaSet},
		schema.GroupKind{Group: groupBatch, Kind: Job},
		schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"},
		schema.GroupKind{Kind: Pod},
		schema.GroupKind{Kind: "PersistentVolumeClaim"},
		schema.GroupKind{Group: GroupExtensions, Kind: CRD}:
		return true
	}
	return !IsBuiltIn(kind)
}
