package kinds

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// facts describe a kind.
type facts struct {
	stage Stage
	// health is true if an object can be applied and yet not be ready, see HealthMatters.
	health  bool
	podSpec podSpec
	// completes is true if an object runs to completion, see RunsToCompletion.
	completes bool
	// shared is true if several modules may bring the same object, see IsShared.
	shared bool
	// existenceOnly is true if an object is healthy as soon as it exists, see ExistenceOnly.
	existenceOnly bool
	// usual is true if modules usually have such objects, see Usual.
	usual bool
}

// wellKnown is a row of the table.
type wellKnown struct {
	group, kind string
	facts
}

// table yields all kinds that Kubernetes itself serves, in the groups that modules use (BuiltIn).
func table(yield func(wellKnown) bool) {
	for _, row := range [...]wellKnown{
		{"", Namespace, facts{stage: StageNamespaces, shared: true, usual: true}},
		{"", "ConfigMap", facts{stage: StageConfiguration, usual: true}},
		{"", "Endpoints", facts{stage: StageConfiguration}},
		{"", "Event", facts{stage: StageConfiguration}},
		{"", "LimitRange", facts{stage: StageConfiguration, usual: true}},
		{"", "Node", facts{stage: StageConfiguration}},
		{"", "PersistentVolume", facts{stage: StageConfiguration}},
		{"", "PersistentVolumeClaim", facts{stage: StageConfiguration, health: true, usual: true}},
		{"", Pod, facts{stage: stageWorkloads, health: true, podSpec: podSpecOfPod, completes: true, usual: true}},
		{"", "PodTemplate", facts{stage: StageConfiguration}},
		{"", "ReplicationController", facts{stage: stageWorkloads, usual: true}},
		{"", "ResourceQuota", facts{stage: StageConfiguration, usual: true}},
		{"", "Secret", facts{stage: StageConfiguration, usual: true}},
		{"", "Service", facts{stage: StageConfiguration, usual: true}},
		{"", "ServiceAccount", facts{stage: StageConfiguration, usual: true}},
		{GroupApps, "ControllerRevision", facts{stage: stageWorkloads}},
		{GroupApps, "DaemonSet", facts{stage: stageWorkloads, health: true, podSpec: podSpecOfTemplate, usual: true}},
		{GroupApps, Deployment, facts{stage: stageWorkloads, health: true, podSpec: podSpecOfTemplate, usual: true}},
		{GroupApps, ReplicaSet, facts{stage: stageWorkloads, health: true, podSpec: podSpecOfTemplate, usual: true}},
		{GroupApps, StatefulSet, facts{stage: stageWorkloads, health: true, podSpec: podSpecOfTemplate, usual: true}},
		{GroupAutoscaling, HorizontalPodAutoscaler, facts{stage: stageWorkloads, usual: true}},
		{groupBatch, "CronJob", facts{stage: stageWorkloads, podSpec: podSpecOfJobTemplate, usual: true}},
		{groupBatch, Job, facts{stage: stageWorkloads, health: true, podSpec: podSpecOfTemplate, completes: true, usual: true}},
		{"coordination.k8s.io", "Lease", facts{stage: StageConfiguration}},
		{"discovery.k8s.io", "EndpointSlice", facts{stage: StageConfiguration}},
		{"networking.k8s.io", "Ingress", facts{stage: StageConfiguration, usual: true}},
		{"networking.k8s.io", "IngressClass", facts{stage: StageConfiguration, usual: true}},
		{"networking.k8s.io", "NetworkPolicy", facts{stage: StageConfiguration, usual: true}},
		{"policy", "PodDisruptionBudget", facts{stage: StageConfiguration, health: true, usual: true}},
		{"rbac.authorization.k8s.io", "ClusterRole", facts{stage: StageConfiguration, usual: true}},
		{"rbac.authorization.k8s.io", "ClusterRoleBinding", facts{stage: StageConfiguration, usual: true}},
		{"rbac.authorization.k8s.io", "Role", facts{stage: StageConfiguration, usual: true}},
		{"rbac.authorization.k8s.io", "RoleBinding", facts{stage: StageConfiguration, usual: true}},
		{"scheduling.k8s.io", "PriorityClass", facts{stage: StageConfiguration, usual: true}},
		{"storage.k8s.io", "CSIDriver", facts{stage: StageConfiguration}},
		{"storage.k8s.io", "StorageClass", facts{stage: StageConfiguration, usual: true}},
		{"node.k8s.io", "RuntimeClass", facts{stage: StageConfiguration}},
		{"certificates.k8s.io", "CertificateSigningRequest", facts{stage: StageConfiguration}},
		{GroupAdmission, "MutatingWebhookConfiguration", facts{stage: StageAdmission, usual: true}},
		{GroupAdmission, "ValidatingWebhookConfiguration", facts{stage: StageAdmission, usual: true}},
		{GroupAdmission, "ValidatingAdmissionPolicy", facts{stage: StageAdmission, usual: true}},
		{GroupAdmission, "ValidatingAdmissionPolicyBinding", facts{stage: StageAdmission, usual: true}},
		{GroupExtensions, CRD, facts{stage: StageDefinitions, health: true, existenceOnly: true, usual: true}},
		// Ready pods do not prove that an APIService is available: the API server must reach them too. An unavailable
		// APIService breaks discovery and the deletion of namespaces in the whole cluster, so its module is not ready.
		{GroupAggregation, "APIService", facts{stage: StageAdmission, health: true, usual: true}},
	} {
		if !yield(row) {
			return
		}
	}
}

// factsOf returns the facts about a kind. The health of kinds that Kubernetes does not serve itself is unknown, so it
// always matters.
func factsOf(kind schema.GroupKind) facts {
	for row := range table {
		if row.kind == kind.Kind && row.group == kind.Group {
			return row.facts
		}
	}
	if IsBuiltIn(kind) {
		return facts{stage: StageConfiguration}
	}
	return facts{stage: stageOfGroup(kind.Group), health: true}
}

// stageOfGroup returns the stage of kinds that are not in the table, by their group.
func stageOfGroup(group string) Stage {
	switch group {
	case GroupExtensions:
		return StageDefinitions
	case GroupAdmission, GroupAggregation:
		return StageAdmission
	case GroupApps, groupBatch, GroupAutoscaling:
		return stageWorkloads
	case "":
		return StageConfiguration
	}
	return stageCustomResources
}

// podSpec says where an object has its pod spec.
type podSpec int

const (
	noPodSpec podSpec = iota
	podSpecOfPod
	podSpecOfTemplate
	podSpecOfJobTemplate
)

func (p podSpec) path() []string {
	switch p {
	case noPodSpec:
	case podSpecOfPod:
		return []string{PathSpec}
	case podSpecOfTemplate:
		return []string{PathSpec, "template", PathSpec}
	case podSpecOfJobTemplate:
		return []string{PathSpec, "jobTemplate", PathSpec, "template", PathSpec}
	}
	return nil
}
