package kinds

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestStages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		group, kind string
		stage       Stage
		health      bool
	}{
		{"", "Namespace", StageNamespaces, false},
		{"apiextensions.k8s.io", "CustomResourceDefinition", StageDefinitions, true},
		{"", "ServiceAccount", StageConfiguration, false},
		{"", "Secret", StageConfiguration, false},
		{"", "Service", StageConfiguration, false},
		{"", "PersistentVolumeClaim", StageConfiguration, true},
		{"rbac.authorization.k8s.io", "ClusterRoleBinding", StageConfiguration, false},
		{"networking.k8s.io", "NetworkPolicy", StageConfiguration, false},
		{"policy", "PodDisruptionBudget", StageConfiguration, true},
		{"scheduling.k8s.io", "PriorityClass", StageConfiguration, false},
		{"apps", "Deployment", stageWorkloads, true},
		{"apps", "StatefulSet", stageWorkloads, true},
		{"apps", "DaemonSet", stageWorkloads, true},
		{"batch", "Job", stageWorkloads, true},
		{"batch", "CronJob", stageWorkloads, false},
		{"", "Pod", stageWorkloads, true},
		{"autoscaling", "HorizontalPodAutoscaler", stageWorkloads, false},
		{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", StageAdmission, false},
		{"apiregistration.k8s.io", "APIService", StageAdmission, true},
		{"cert-manager.io", "Issuer", stageCustomResources, true},
		{"operator.kyma-project.io", "Keda", stageCustomResources, true},
	}
	for _, test := range tests {
		kind := schema.GroupKind{Group: test.group, Kind: test.kind}
		require.Equal(t, test.stage, StageOf(kind), kind.String())
		require.Equal(t, test.health, HealthMatters(kind), kind.String())
	}
}
