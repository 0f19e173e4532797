package install

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// stage orders the objects of a module: applied from the first to the last, removed in reverse, so that
// what serves others is there before them and goes after them (design, section 8).
type stage int

const (
	stageNamespaces stage = iota
	// stageDefinitions are CustomResourceDefinitions; the next stage waits until they are established.
	stageDefinitions
	// stageConfiguration is RBAC, configuration, storage, services: what workloads find when they start.
	stageConfiguration
	stageWorkloads
	// stageAdmission is what the API server calls: webhooks and aggregated APIs. It is removed before
	// the workloads behind it, so that a dead one never blocks the deletion of anything else.
	stageAdmission
	// stageCustomResources is everything else: objects of kinds that somebody defined.
	stageCustomResources

	stageCount
)

// Groups whose kinds have a place of their own.
const (
	groupAdmission    = "admissionregistration.k8s.io"
	groupAggregation  = "apiregistration.k8s.io"
	groupApps         = "apps"
	groupAutoscaling  = "autoscaling"
	groupBatch        = "batch"
	groupExtensions   = "apiextensions.k8s.io"
	kindDefinition    = "CustomResourceDefinition"
	kindDeployment    = "Deployment"
	kindJob           = "Job"
	kindNamespace     = "Namespace"
	kindStatefulSet   = "StatefulSet"
	kindReplicaSet    = "ReplicaSet"
	kindPod           = "Pod"
	kindAutoscaler    = "HorizontalPodAutoscaler"
	annotationMarked  = "true"
	pathConversion    = "conversion"
	pathWebhooks      = "webhooks"
	pathCABundle      = "caBundle"
	pathReplicas      = "replicas"
	pathSpec          = "spec"
	pathMetadata      = "metadata"
	pathStatus        = "status"
	pathAnnotations   = "annotations"
	pathLabels        = "labels"
	pathClientConfig  = "clientConfig"
	pathWebhookClient = "webhook"
)

// stageOf returns the stage of a kind.
func stageOf(kind schema.GroupKind) stage {
	switch kind.Group {
	case groupExtensions:
		return stageDefinitions
	case groupAdmission, groupAggregation:
		return stageAdmission
	case groupApps, groupBatch, groupAutoscaling:
		return stageWorkloads
	case "":
		switch kind.Kind {
		case kindNamespace:
			return stageNamespaces
		case kindPod, "ReplicationController":
			return stageWorkloads
		}
		return stageConfiguration
	}
	if isBuiltIn(kind) {
		return stageConfiguration
	}
	return stageCustomResources
}

// healthMatters tells whether an object of this kind can be applied and yet not be ready, so that it must
// be read to know. Of the built-in kinds these are the workloads and what they stand on; of all others
// nothing is known, so they are read too.
//
// An APIService is not among them: that it is available depends on pods and network behind it, which the
// workload's own readiness speaks for, and one that is not must not block its module (nor anything else).
func healthMatters(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Group: groupApps, Kind: kindDeployment},
		schema.GroupKind{Group: groupApps, Kind: kindStatefulSet},
		schema.GroupKind{Group: groupApps, Kind: "DaemonSet"},
		schema.GroupKind{Group: groupApps, Kind: kindReplicaSet},
		schema.GroupKind{Group: groupBatch, Kind: kindJob},
		schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"},
		schema.GroupKind{Kind: kindPod},
		schema.GroupKind{Kind: "PersistentVolumeClaim"},
		schema.GroupKind{Group: groupExtensions, Kind: kindDefinition}:
		return true
	}
	return !isBuiltIn(kind)
}
