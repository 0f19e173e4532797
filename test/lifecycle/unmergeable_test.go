package lifecycle

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const portsYAML = `
apiVersion: v1
kind: Service
metadata: {name: single}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: several}
spec: {selector: {app: web}, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web:1
        ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090, hostPort: 9090}]
---
`

// changes patches an object of the module, as kubectl edit does.
func (s *environment) changes(apiVersion, kind, name, patch string) {
	s.Helper()
	u := s.get(apiVersion, kind, "ID-remote", name)
	require.NotNil(s, u)
	encoded, err := yaml.YAMLToJSON([]byte(patch))
	require.NoError(s, err)
	require.NoError(s, s.remote.Patch(context.Background(), u, client.RawPatch(types.JSONPatchType, encoded), client.FieldOwner("kubectl-edit")))
}

// ports returns the ports of an object, as "name number protocol".
func (s *environment) ports(apiVersion, kind, name string) []any {
	s.Helper()
	u := s.get(apiVersion, kind, "ID-remote", name)
	ports, found, err := unstructured.NestedSlice(u.Object, "spec", "ports")
	require.NoError(s, err)
	if !found {
		containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
		container, _ := containers[0].(map[string]any)
		ports, _, _ = unstructured.NestedSlice(container, "ports")
	}
	return ports
}

func TestTheDriftOfAPortNumberIsCorrected(t *testing.T) {
	s := newEnvironment(t, portsYAML, nil)
	s.installReady()
	before := map[string][]any{}
	kinds := map[string]string{"single": "v1 Service", "several": "v1 Service", "web": "apps/v1 Deployment"}
	portsOf := func(name string) []any {
		if kinds[name] == "v1 Service" {
			return s.ports("v1", "Service", name)
		}
		return s.ports("apps/v1", "Deployment", name)
	}
	for name := range kinds {
		before[name] = portsOf(name)
	}
	s.changes("v1", "Service", "single", `[{op: replace, path: /spec/ports/0/port, value: 81}]`)
	s.changes("v1", "Service", "several", `[{op: replace, path: /spec/ports/0/port, value: 81}, {op: add, path: /spec/ports/-, value: {name: mine, port: 99}}]`)
	const path = "/spec/template/spec/containers/0/ports/"
	s.changes("apps/v1", "Deployment", "web", `[{op: replace, path: `+path+`0/containerPort, value: 8081}, {op: replace, path: `+path+`1, value: {containerPort: 9091, hostPort: 9090}}]`)
	how, _ := s.differs()
	require.Equal(t, "the module's resources drifted", how)

	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	s.report(s.ready(s.settle(result)), true)
	require.ElementsMatch(t, before["single"], portsOf("single"))
	require.Len(t, portsOf("several"), len(before["several"])+1, "what others added and clashes with nothing stays")
	require.ElementsMatch(t, before["web"], portsOf("web"))
	how, _ = s.differs()
	require.Empty(t, how)
	s.recorded.take()
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	_, corrected := s.recorded.take()
	require.Zero(t, corrected, "once is enough")
}

func TestAnExpandedPersistentVolumeClaimKeepsItsSize(t *testing.T) {
	ctx := context.Background()
	s := newEnvironment(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, labels: {app: web}}
spec:
  storageClassName: ID
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
`, nil)
	expands := true
	objects := []client.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: s.id}, Provisioner: "example.com/none", AllowVolumeExpansion: &expands},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: s.id}, Spec: corev1.PersistentVolumeSpec{
			StorageClassName: s.id, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}},
		}},
	}
	for _, object := range objects {
		require.NoError(t, s.remote.Create(ctx, object))
		t.Cleanup(func() { _ = s.remote.Delete(context.Background(), object) })
	}
	s.installReady()
	s.changes("v1", "PersistentVolumeClaim", "data", `[{op: replace, path: /spec/resources/requests/storage, value: 2Gi}, {op: remove, path: /metadata/labels/app}]`)
	how, _ := s.differs()
	require.Equal(t, "the module's resources drifted", how)

	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	s.report(s.ready(s.settle(result)), true)
	claim := s.get("v1", "PersistentVolumeClaim", "ID-remote", "data")
	require.Equal(t, "web", claim.GetLabels()["app"], "the rest of it is put back")
	size, _, _ := unstructured.NestedString(claim.Object, "spec", "resources", "requests", "storage")
	require.Equal(t, "2Gi", size)
	how, _ = s.differs()
	require.Empty(t, how)
}

func TestTheRulesThatKubernetesAggregatesAreNotOurs(t *testing.T) {
	s := newEnvironment(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ID-gathered}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {gather: ID}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ID-part, labels: {gather: ID}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {deployment.kubernetes.io/revision: "7"}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "example.com/web:1"}]}}
---
`, nil)
	s.installReady()
	gathered := func() bool {
		rules, _, _ := unstructured.NestedSlice(s.get("rbac.authorization.k8s.io/v1", "ClusterRole", "", "ID-gathered").Object, "rules")
		revision := s.get("apps/v1", "Deployment", "ID-remote", "web").GetAnnotations()["deployment.kubernetes.io/revision"]
		return len(rules) == 1 && revision == "1"
	}
	require.Eventually(t, gathered, 20*time.Second, pollEvery)
	how, _ := s.differs()
	require.Empty(t, how, "what controllers write is no drift")
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.True(t, gathered())
	_, corrected := s.recorded.take()
	require.Zero(t, corrected)
}

func TestReadyObjectsAreCountedAlsoWhereOthersCouldNotBeApplied(t *testing.T) {
	s := newEnvironment(t, portsYAML+"apiVersion: nowhere.example.com/v1\nkind: Unknown\nmetadata: {name: u}\n---\n", nil)
	require.Equal(t, manifests.OutcomeIncomplete, s.apply().Outcome)
	var result install.ApplyResult
	require.Eventually(t, func() bool { result = s.apply(); return result.Observed.Ready == 3 }, 20*time.Second, pollEvery)
	require.EqualValues(t, 4, result.Observed.Total)
	s.report(result.Observed, false)
	counts := s.read().Status.Counts
	require.EqualValues(t, 3, counts.Ready)
	require.EqualValues(t, 1, counts.Failed)
	require.Equal(t, shared.StateProcessing, s.read().Status.State)
}

// oneOfTwoYAML has one arm of what an object can have only one of, filled in by the API server or by somebody else.
const oneOfTwoYAML = `
apiVersion: v1
kind: Service
metadata: {name: sticky}
spec: {selector: {app: a}, sessionAffinity: ClientIP, type: NodePort, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: ranges}
spec: {selector: {app: a}, type: LoadBalancer, ports: [{port: 80}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: recreate}
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      volumes: [{name: v}]
      containers:
      - name: a
        image: example.com/a:1
        volumeMounts: [{name: v, mountPath: /v}]
        env: [{name: A, value: a}]
        livenessProbe: {httpGet: {port: 80}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ondelete}
spec:
  replicas: 0
  serviceName: a
  selector: {matchLabels: {app: b}}
  template: {metadata: {labels: {app: b}}, spec: {containers: [{name: a, image: "example.com/a:1"}]}}
---
`

const convertingYAML = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: samples.ID.example.com}
spec:
  group: ID.example.com
  scope: Namespaced
  names: {kind: Sample, plural: samples, singular: sample, listKind: SampleList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: conv, namespace: ID-remote, path: /convert}}}
  versions:
  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
`

// withoutConversion is convertingYAML as a version without conversion has it.
func withoutConversion() string {
	before, rest, _ := strings.Cut(convertingYAML, "  conversion:\n")
	_, after, _ := strings.Cut(rest, "  versions:\n")
	return before + "  versions:\n" + after
}

func TestANewVersionTakesAwayWhatItLeavesNoRoomFor(t *testing.T) {
	testfleet.NeedsRealRemote(t, "filling in defaults and refusing what does not go together")
	s := newEnvironment(t, oneOfTwoYAML+convertingYAML, nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	s.changes("v1", "Service", "ranges", `[{op: add, path: /spec/loadBalancerSourceRanges, value: [10.0.0.0/8]}, {op: add, path: /metadata/labels/mine, value: stays}]`)
	s.changes("policy/v1", "PodDisruptionBudget", "budget", `[{op: remove, path: /spec/minAvailable}, {op: add, path: /spec/maxUnavailable, value: 2}, {op: add, path: /spec/unhealthyPodEvictionPolicy, value: AlwaysAllow}]`)
	const container = "/spec/template/spec/containers/0/"
	s.changes("apps/v1", "Deployment", "recreate", `[{op: replace, path: `+container+`env/0, value: {name: A, value: theirs}}, {op: replace, path: `+container+`livenessProbe, value: {exec: {command: ["true"]}, periodSeconds: 33}}]`)
	authority, err := clientcmd.BuildConfigFromFlags("", testfleet.Require(t, "LM_TEST_REMOTE"))
	require.NoError(t, err)
	require.NotEmpty(t, authority.CAData)
	definition := s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com")
	require.NoError(s, s.remote.Patch(context.Background(), definition, client.RawPatch(types.JSONPatchType,
		[]byte(`[{"op": "add", "path": "/spec/conversion/webhook/clientConfig/caBundle", "value": "`+base64.StdEncoding.EncodeToString(authority.CAData)+`"}]`)), client.FieldOwner("cert-manager")))

	next := strings.NewReplacer(
		"sessionAffinity: ClientIP, type: NodePort, ", "", "type: LoadBalancer, ", "type: ClusterIP, ",
		"replicas: 0\n  selector: {matchLabels: {app: a}}", "replicas: 0\n  strategy: {type: Recreate}\n  selector: {matchLabels: {app: a}}",
		"volumes: [{name: v}]", "volumes: [{name: v, configMap: {name: x}}]", "{name: A, value: a}", "{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}",
		"serviceName: a", "serviceName: a\n  updateStrategy: {type: OnDelete}",
	).Replace(oneOfTwoYAML)
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version, m.Spec.Install.Source = "2.0.0", s.layer(next+withoutConversion())
	})
	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)

	value := func(apiVersion, kind, name string, path ...string) any {
		namespace := "ID-remote"
		if kind == "CustomResourceDefinition" {
			namespace = ""
		}
		found, _, err := unstructured.NestedFieldNoCopy(s.get(apiVersion, kind, namespace, name).Object, path...)
		require.NoError(t, err)
		return found
	}
	require.Equal(t, map[string]any{"type": "Recreate"}, value("apps/v1", "Deployment", "recreate", "spec", "strategy"))
	require.Equal(t, map[string]any{"type": "OnDelete"}, value("apps/v1", "StatefulSet", "ondelete", "spec", "updateStrategy"))
	require.Equal(t, map[string]any{"strategy": "None"}, value("apiextensions.k8s.io/v1", "CustomResourceDefinition", "samples.ID.example.com", "spec", "conversion"))
	require.Nil(t, value("v1", "Service", "sticky", "spec", "sessionAffinityConfig"))
	require.Nil(t, value("v1", "Service", "ranges", "spec", "loadBalancerSourceRanges"))
	require.Equal(t, "stays", value("v1", "Service", "ranges", "metadata", "labels", "mine"))
	require.Nil(t, value("policy/v1", "PodDisruptionBudget", "budget", "spec", "maxUnavailable"))
	require.EqualValues(t, 1, value("policy/v1", "PodDisruptionBudget", "budget", "spec", "minAvailable"))
	require.Equal(t, "AlwaysAllow", value("policy/v1", "PodDisruptionBudget", "budget", "spec", "unhealthyPodEvictionPolicy"), "there is room for it")
	containers, _ := value("apps/v1", "Deployment", "recreate", "spec", "template", "spec", "containers").([]any)
	first, _ := containers[0].(map[string]any)
	probe, _ := first["livenessProbe"].(map[string]any)
	require.NotContains(t, probe, "exec")
	require.EqualValues(t, 33, probe["periodSeconds"], "there is room for it")
	env, _ := first["env"].([]any)
	require.NotContains(t, env[0], "value")

	s.requests.take()
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Empty(t, writes(s.requests.take()), "once is enough")
}

func TestWhatWasTakenInVainIsGivenBack(t *testing.T) {
	testfleet.NeedsRealRemote(t, "refusing what does not go together")
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: "example.com/a:1"}]}}
---
`
	s := newEnvironment(t, deployment, nil)
	s.installReady()
	s.changes("apps/v1", "Deployment", "web", `[{op: replace, path: /spec/strategy/rollingUpdate/maxSurge, value: 3}]`)
	before := s.get("apps/v1", "Deployment", "ID-remote", "web")
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Install.Source = s.layer(strings.Replace(deployment, "replicas: 0", "replicas: 0\n  minReadySeconds: -1\n  strategy: {type: Recreate}", 1))
	})
	result := s.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Contains(t, result.Observed.Message, "spec.minReadySeconds: must be greater than or equal to 0")
	after := s.get("apps/v1", "Deployment", "ID-remote", "web")
	require.Equal(t, before.Object["spec"], after.Object["spec"])
	require.Equal(t, owners(before), owners(after))
}

// owners are the managers of an object with what they own.
func owners(u *unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for _, e := range u.GetManagedFields() {
		all[e.Manager+" "+string(e.Operation)+" "+e.Subresource] = e.FieldsV1.GetRawString()
	}
	return all
}
