package lint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pod returns a Pod with additional fields for its only container and its spec.
func pod(container, spec string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b" + container + "}]" + spec + "}}"
}

func service(spec string) string {
	return "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {" + spec + "}}"
}

func claim(spec string) string {
	return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {resources: {requests: {storage: 1Gi}}, " + spec + "}}"
}

func workload(kind, spec, template string) string {
	return "{apiVersion: apps/v1, kind: " + kind + ", metadata: {name: a}, spec: {" + spec + ", template: {metadata: {labels: {a: b}}, spec: {" + template + "}}}}"
}

func scaler(spec string) string {
	return "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {" + spec + "}}"
}

const target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}"

func TestMissingRequiredFields(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"a Deployment's selector": {
			workload("Deployment", "replicas: 1", "containers: [{name: a, image: b}]"),
			"spec.selector: Required value",
		},
		"a Deployment's template": {
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}}}",
			"spec.template: Required value",
		},
		"a Deployment's spec": {
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}",
			"spec: Required value",
		},
		"the containers": {
			workload("StatefulSet", "selector: {matchLabels: {a: b}}", "restartPolicy: Always"),
			"spec.template.spec.containers: Required value",
		},
		"the containers, as an empty list": {
			workload("DaemonSet", "selector: {matchLabels: {a: b}}", "containers: []"),
			"spec.template.spec.containers: Required value",
		},
		"the containers, as null": {
			workload("DaemonSet", "selector: {matchLabels: {a: b}}", "containers: "),
			"spec.template.spec.containers: Required value",
		},
		"the second container's name": {
			workload("Deployment", "selector: {matchLabels: {a: b}}", "containers: [{name: a, image: b}, {image: b}]"),
			"spec.template.spec.containers[1].name: Required value",
		},
		"a container's name, as an empty string": {
			"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: '', image: b}]}}",
			"spec.containers[0].name: Required value",
		},
		"a variable's key": {
			pod(", env: [{name: A, valueFrom: {secretKeyRef: {name: a}}}]", ""),
			"spec.containers[0].env[0].valueFrom.secretKeyRef.key: Required value",
		},
		"a mount's path": {
			pod(", volumeMounts: [{name: a}]", ", volumes: [{name: a, emptyDir: {}}]"),
			"spec.containers[0].volumeMounts[0].mountPath: Required value",
		},
		"a Service's port": {
			service("ports: [{name: http}]"),
			"spec.ports[0].port: Required value",
		},
		"a CronJob's schedule": {
			"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}}}",
			"spec.schedule: Required value",
		},
		"the kind of a subject": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {kind: ClusterRole, name: a}, subjects: [{name: a, namespace: b}]}",
			"subjects[0].kind: Required value",
		},
		"a binding's role": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, subjects: [{kind: ServiceAccount, name: a, namespace: b}]}",
			"roleRef: Required value",
		},
		"a rule's verbs": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{apiGroups: [''], resources: [pods]}]}",
			"rules[0].verbs: Required value",
		},
		"what is scaled": {
			scaler("maxReplicas: 2"),
			"spec.scaleTargetRef: Required value",
		},
		"the type of a metric": {
			scaler(target + ", maxReplicas: 2, metrics: [{resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]"),
			"spec.metrics[0].type: Required value",
		},
		"a webhook's side effects": {
			"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: a.b.c, admissionReviewVersions: [v1], clientConfig: {service: {namespace: a, name: b}}}]}",
			"webhooks[0].sideEffects: Required value",
		},
		"the type of a path of an Ingress": {
			"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {rules: [{http: {paths: [{path: /, backend: {service: {name: a, port: {number: 80}}}}]}}]}}",
			"spec.rules[0].http.paths[0].pathType: Required value",
		},
		"an APIService's priorities": {
			"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.a.b}, spec: {group: a.b, version: v1}}",
			"spec.groupPriorityMinimum: Required value",
		},
		"a StorageClass's provisioner": {
			"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a}}",
			"provisioner: Required value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := check(t, good().with("manifest.yaml", goodDefinition+"---\n"+test.object))
			require.Error(t, err)
			require.Contains(t, strings.Join(lines, "\n")+"\n", "): "+test.want+"\n")
		})
	}
}

func TestValuesOutsideAnEnum(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"the type of a Service": {
			service("type: Loadbalancer, ports: [{port: 80}]"),
			`spec.type: Unsupported value: "Loadbalancer": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"`,
		},
		"a Service's protocol": {
			service("ports: [{port: 80, protocol: http}]"),
			`spec.ports[0].protocol: Unsupported value: "http": supported values: "SCTP", "TCP", "UDP"`,
		},
		"a pull policy": {
			workload("Deployment", "selector: {matchLabels: {a: b}}", "containers: [{name: a, image: b, imagePullPolicy: always}]"),
			`spec.template.spec.containers[0].imagePullPolicy: Unsupported value: "always": supported values: "Always", "IfNotPresent", "Never"`,
		},
		"a restart policy": {
			pod("", ", restartPolicy: never"),
			`spec.restartPolicy: Unsupported value: "never": supported values: "Always", "Never", "OnFailure"`,
		},
		"a strategy": {
			workload("Deployment", "strategy: {type: Rolling}, selector: {matchLabels: {a: b}}", "containers: [{name: a, image: b}]"),
			`spec.strategy.type: Unsupported value: "Rolling": supported values: "Recreate", "RollingUpdate"`,
		},
		"the scheme of a probe": {
			pod(", readinessProbe: {httpGet: {port: 80, scheme: https}}", ""),
			`spec.containers[0].readinessProbe.httpGet.scheme: Unsupported value: "https": supported values: "HTTP", "HTTPS"`,
		},
		"an operator of a node's labels": {
			pod("", ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: in, values: [b]}]}]}}}"),
			`operator: Unsupported value: "in": supported values: "DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"`,
		},
		"a mode in a list": {
			claim("accessModes: [ReadWriteOne]"),
			`spec.accessModes[0]: Unsupported value: "ReadWriteOne": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
		},
		"an operation of a webhook": {
			"{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: a.b.c, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {namespace: a, name: b}}, rules: [{operations: [create], apiGroups: ['*'], apiVersions: ['*'], resources: ['*']}]}]}",
			`webhooks[0].rules[0].operations[0]: Unsupported value: "create": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
		},
		"a type of a NetworkPolicy": {
			"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}, policyTypes: [ingress]}}",
			`spec.policyTypes[0]: Unsupported value: "ingress": supported values: "Egress", "Ingress"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := check(t, good().with("manifest.yaml", goodDefinition+"---\n"+test.object))
			require.Error(t, err)
			require.Contains(t, strings.Join(lines, "\n"), test.want)
		})
	}
}

func TestEnumsAreCheckedInRenderedCharts(t *testing.T) {
	lines, err := check(t, goodChart().with("chart/templates/service.yaml", service("type: {{ .Values.image.tag }}, ports: [{port: 80}]")))
	require.Error(t, err)
	require.Contains(t, strings.Join(lines, "\n"), `spec.type: Unsupported value: "v1": supported values: "ClusterIP"`)
}

// An API server accepts each of these objects (verified with create requests with dryRun=All, Kubernetes 1.36).
func TestObjectsThatAnAPIServerAcceptsHaveNoFindings(t *testing.T) {
	for name, object := range map[string]string{
		"values that are empty":              service("type: '', sessionAffinity: '', ports: [{port: 80, protocol: ''}]"),
		"lists that are null":                pod(", env: null, ports: ", ", volumes: null, tolerations: "),
		"a pull policy that is empty":        pod(", imagePullPolicy: ''", ""),
		"any effect of a taint":              pod("", ", tolerations: [{key: a, operator: Exists, effect: ''}, {operator: Exists}]"),
		"a status without what is in it":     "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}, status: {conditions: [{type: a}]}}",
		"a null date of creation":            "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, creationTimestamp: null}}",
		"a template with a null date":        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {creationTimestamp: null, labels: {a: b}}, spec: {containers: [{name: a, image: b, resources: {}}]}}, strategy: {}}, status: {}}",
		"an owner in a template":             "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}, ownerReferences: [{name: a}]}, spec: {containers: [{name: a, image: b}]}}}}",
		"a role without its group":           "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {kind: ClusterRole, name: a}, subjects: [{kind: ServiceAccount, name: a, namespace: b}]}",
		"a binding without subjects":         "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, roleRef: {kind: Role, name: a}}",
		"a role without rules":               "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: []}",
		"a role for the core group":          "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
		"a NetworkPolicy for all pods":       "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {}}",
		"a PodDisruptionBudget for all":      "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {minAvailable: 50%, selector: {}}}",
		"a LimitRange without limits":        "{apiVersion: v1, kind: LimitRange, metadata: {name: a}, spec: {}}",
		"a CSIDriver without a spec":         "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: a}}",
		"an EndpointSlice without any":       "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: IPv4}",
		"a StorageClass without its policy":  "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a}, provisioner: a.b, reclaimPolicy: ''}",
		"a header without a value":           pod(", livenessProbe: {httpGet: {port: http, httpHeaders: [{name: a}]}}, ports: [{name: http, containerPort: 80}]", ""),
		"a sleep of no time":                 pod(", lifecycle: {preStop: {sleep: {}}}", ""),
		"a kernel's parameter without one":   pod("", ", securityContext: {sysctls: [{name: kernel.shm_rmid_forced}]}"),
		"a preference for nothing":           pod("", ", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}"),
		"quantities and ports of all types":  pod(", resources: {limits: {cpu: 1, memory: 1Gi}}, livenessProbe: {tcpSocket: {port: http}}", ""),
		"a policy of failure without rules":  "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {podFailurePolicy: {}, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}",
		"a claim's source, which is dropped": claim("accessModes: [ReadWriteOnce], dataSource: {name: a}"),
		"a selector of a metric":             scaler(target + ", maxReplicas: 2, metrics: [{type: External, external: {metric: {name: a, selector: {matchExpressions: [{key: a}]}}, target: {type: Value, value: 1}}}]"),
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := check(t, good().with("manifest.yaml", goodDefinition+"---\n"+object))
			require.NoError(t, err, lines)
			require.Empty(t, lines)
		})
	}
}
