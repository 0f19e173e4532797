package kinds

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stage orders the objects of a module. They are applied from the first stage to the last and removed in reverse, so
// that an object exists before and after the objects that depend on it (docs/design/install-and-drift.md#stages).
type Stage int

// The stages, in the order in which they are applied.
const (
	StageNamespaces Stage = iota
	// StageDefinitions has CustomResourceDefinitions. The next stage waits until they are established.
	StageDefinitions
	// StageConfiguration has RBAC, configuration, storage and services: the objects that workloads need when they
	// start.
	StageConfiguration
	stageWorkloads
	// StageAdmission has webhooks and aggregated APIs, which the API server calls. It is removed before the workloads
	// that serve them, so that a webhook without a server never blocks the deletion of other objects.
	StageAdmission
	// stageCustomResources has everything else: objects of kinds from CustomResourceDefinitions.
	stageCustomResources

	// StageCount is the number of stages.
	StageCount
)

// Groups of well-known kinds.
const (
	GroupAdmission   = "admissionregistration.k8s.io"
	GroupAggregation = "apiregistration.k8s.io"
	GroupApps        = "apps"
	GroupAutoscaling = "autoscaling"
	groupBatch       = "batch"
	GroupExtensions  = "apiextensions.k8s.io"
)

// Well-known kinds.
const (
	CRD                     = "CustomResourceDefinition"
	Deployment              = "Deployment"
	Job                     = "Job"
	Namespace               = "Namespace"
	StatefulSet             = "StatefulSet"
	ReplicaSet              = "ReplicaSet"
	Pod                     = "Pod"
	HorizontalPodAutoscaler = "HorizontalPodAutoscaler"
)

// Fields of objects.
const (
	PathConversion    = "conversion"
	PathWebhooks      = "webhooks"
	PathCABundle      = "caBundle"
	PathReplicas      = "replicas"
	PathSpec          = "spec"
	PathMetadata      = "metadata"
	PathStatus        = "status"
	PathAnnotations   = "annotations"
	PathLabels        = "labels"
	PathClientConfig  = "clientConfig"
	PathWebhookClient = "webhook"
)

// StageOf returns the stage of a kind.
func StageOf(kind schema.GroupKind) Stage { return factsOf(kind).stage }

// HealthMatters reports whether an object of this kind can be applied and yet not be ready, so that it must be read.
// Among the built-in kinds, these are the workloads and the kinds that workloads depend on. The health of all other
// kinds is unknown, so their objects are read too.
func HealthMatters(kind schema.GroupKind) bool { return factsOf(kind).health }
