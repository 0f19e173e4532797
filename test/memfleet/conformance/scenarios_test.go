package conformance_test

// step is one request. In path and body, NS is a namespace of the scenario's own, and ${uid 0}, ${rv 0} and
// ${continue 0} are taken from the answer to step 0.
type step struct {
	verb string
	path string
	// kind of body: "apply", "merge", "json", "strategic", or empty for an object.
	patch string
	body  string
	// accept is the Accept header; JSON where it is empty.
	accept string
	agent  string
	// pause is for what happens by itself: "settled" until the object that was read does not change any more, "gone" until
	// it is not found, "there" until it is found, "deleted" until it has a time of deletion.
	until string
}

type scenario struct {
	name  string
	steps []step
}

const (
	metadataOnly     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataListOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

func scenarios() []scenario {
	maps := "/api/v1/namespaces/NS/configmaps"
	apply := "?fieldManager=one&force=true"
	return []scenario{
		{"apply of a ConfigMap: created, the same, changed, taken over, released", []step{
			{verb: "PATCH", path: maps + "/a" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"l":"1"}},"data":{"x":"1","y":"2"}}`},
			{verb: "PATCH", path: maps + "/a" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"l":"1"}},"data":{"x":"1","y":"2"}}`},
			{verb: "PATCH", path: maps + "/a" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"2"}}`},
			{verb: "PATCH", path: maps + "/a?fieldManager=two", patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"3"}}`},
			{verb: "PATCH", path: maps + "/a?fieldManager=two&force=true", patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"3"}}`},
			{verb: "PATCH", path: maps + "/a" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`},
			{verb: "PATCH", path: maps + "/a" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"11111111-1111-1111-1111-111111111111"}}`},
			{verb: "PATCH", path: maps + "/a" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"1"},"data":{"z":"1"}}`},
			{verb: "PATCH", path: maps + "/a?force=true", patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`},
			{verb: "PATCH", path: maps + "/a" + apply + "&dryRun=All", patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"d":"1"}}`},
			{verb: "GET", path: maps + "/a"},
			{verb: "GET", path: maps + "/a", accept: metadataOnly},
		}},
		{"other writes note their manager, and a write that changes nothing is none", []step{
			{verb: "POST", path: maps, agent: "maker/1.0", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"x":"1"}}`},
			{verb: "POST", path: maps, agent: "maker/1.0", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"x":"1"}}`},
			{verb: "PATCH", path: maps + "/b?fieldManager=merger", patch: "merge", body: `{"data":{"y":"2"}}`},
			{verb: "PATCH", path: maps + "/b?fieldManager=merger", patch: "merge", body: `{"data":{"y":"2"}}`},
			{verb: "PATCH", path: maps + "/b?fieldManager=other", patch: "merge", body: `{"data":{"y":"2"}}`},
			{verb: "PATCH", path: maps + "/b", patch: "json", agent: "jsoner", body: `[{"op":"replace","path":"/data/x","value":"5"}]`},
			{verb: "PATCH", path: maps + "/b", patch: "json", agent: "jsoner", body: `[{"op":"test","path":"/data/x","value":"6"}]`},
			{verb: "PATCH", path: maps + "/b?fieldManager=merger", patch: "merge", body: `{"metadata":{"resourceVersion":"${rv 0}"},"data":{"y":"3"}}`},
			{verb: "PATCH", path: maps + "/b?fieldManager=merger", patch: "merge", body: `{"metadata":{"uid":"11111111-1111-1111-1111-111111111111"},"data":{"y":"3"}}`},
			{verb: "PATCH", path: maps + "/b?fieldManager=merger", patch: "merge", body: `{"metadata":{"resourceVersion":"${rv 5}"},"data":{"y":"4"}}`},
			{verb: "PUT", path: maps + "/b", agent: "putter/2", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","resourceVersion":"${rv 9}"},"data":{"y":"4"}}`},
			{verb: "PUT", path: maps + "/b", agent: "putter/2", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","resourceVersion":"${rv 9}"},"data":{"y":"5"}}`},
			{verb: "PUT", path: maps + "/b", agent: "putter/2", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"y":"5"}}`},
			{verb: "PUT", path: maps + "/none", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"none"}}`},
			{verb: "PATCH", path: maps + "/none", patch: "merge", body: `{"data":{"y":"4"}}`},
			{verb: "POST", path: maps, agent: "maker", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Not A Name"}}`},
			{verb: "POST", path: maps, agent: "maker", body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`},
			{verb: "POST", path: maps, agent: "maker", body: `{"apiVersion":"v1"`},
			{verb: "PATCH", path: maps + "/b?fieldManager=m", patch: "merge", body: `{"immutable":true}`},
			{verb: "PATCH", path: maps + "/b?fieldManager=m", patch: "merge", body: `{"data":{"q":"1"}}`},
		}},
		{"deletion: preconditions, finalizers, what is not there", []step{
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","finalizers":["a.b/c"]}}`},
			{verb: "DELETE", path: maps + "/c", body: `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"11111111-1111-1111-1111-111111111111"}}`},
			{verb: "DELETE", path: maps + "/c", body: `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"resourceVersion":"1"}}`},
			{verb: "DELETE", path: maps + "/c", body: `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"${uid 0}","resourceVersion":"${rv 0}"},"propagationPolicy":"Background"}`},
			{verb: "DELETE", path: maps + "/c"},
			{verb: "PATCH", path: maps + "/c?fieldManager=m", patch: "merge", body: `{"metadata":{"finalizers":["a.b/c","d.e/f"]}}`},
			{verb: "PATCH", path: maps + "/c?fieldManager=m", patch: "merge", body: `{"metadata":{"finalizers":null}}`},
			{verb: "GET", path: maps + "/c"},
			{verb: "DELETE", path: maps + "/c"},
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"}}`},
			{verb: "DELETE", path: maps + "/d?dryRun=All"},
			{verb: "DELETE", path: maps + "/d"},
		}},
		{"pages of metadata by label", []step{
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p1","labels":{"p":"1"}}}`},
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p2","labels":{"p":"2"}}}`},
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p3","labels":{"p":"1"}}}`},
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p4","labels":{"p":"1"}}}`},
			{verb: "GET", path: maps + "?labelSelector=p%3D1&limit=2", accept: metadataListOnly},
			{verb: "GET", path: maps + "?labelSelector=p%3D1&limit=2&continue=${continue 4}", accept: metadataListOnly},
			{verb: "GET", path: "/api/v1/configmaps?labelSelector=p+in+(1,2)&fieldSelector=metadata.namespace%3DNS"},
			{verb: "GET", path: maps + "?labelSelector=p&fieldSelector=metadata.name%3Dp2"},
			{verb: "GET", path: maps + "?labelSelector=p&fieldSelector=metadata.name!%3Dp2,metadata.name!%3Dkube-root-ca.crt", accept: metadataListOnly},
			{verb: "GET", path: maps + "?fieldSelector=data.x%3D1"},
			{verb: "GET", path: maps + "?labelSelector=%3D%3D"},
			{verb: "GET", path: maps + "?limit=1&continue=nonsense"},
			{verb: "DELETE", path: maps + "?labelSelector=p%3D2"},
			{verb: "GET", path: maps + "?labelSelector=p", accept: metadataListOnly},
		}},
		{"a Deployment is defaulted, and its generation follows its spec", []step{
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/deployments/web" + apply, patch: "apply", body: deployment("1", 0)},
			{verb: "GET", path: "/apis/apps/v1/namespaces/NS/deployments/web", until: "settled"},
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/deployments/web" + apply, patch: "apply", body: deployment("1", 0)},
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/deployments/web" + apply, patch: "apply", body: deployment("2", 0)},
			{verb: "GET", path: "/apis/apps/v1/namespaces/NS/deployments/web", until: "settled"},
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/deployments/web?fieldManager=labels", patch: "strategic", body: `{"metadata":{"labels":{"more":"1"}},"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}`},
			{verb: "GET", path: "/apis/apps/v1/namespaces/NS/deployments/web", until: "settled"},
			{verb: "GET", path: "/apis/apps/v1/namespaces/NS/deployments/web/scale"},
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/deployments/web/scale?fieldManager=scaler", patch: "merge", body: `{"spec":{"replicas":0}}`},
			{verb: "GET", path: "/apis/apps/v1/namespaces/NS/deployments/web", until: "settled"},
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/deployments/web?fieldManager=m", patch: "merge", body: `{"spec":{"selector":{"matchLabels":{"x":"y"}}}}`},
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/deployments/web?fieldManager=m", patch: "merge", body: `{"status":{"replicas":7}}`},
			{verb: "GET", path: "/apis/apps/v1/namespaces/NS/deployments/web", accept: metadataOnly, until: "settled"},
			{verb: "DELETE", path: "/apis/apps/v1/namespaces/NS/deployments/web?propagationPolicy=Background"},
			{verb: "GET", path: "/apis/apps/v1/namespaces/NS/deployments/web", until: "gone"},
		}},
		{"a Deployment becomes available", []step{
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/deployments/web" + apply, patch: "apply", body: deployment("1", 1)},
			{verb: "GET", path: "/apis/apps/v1/namespaces/NS/deployments/web", until: "settled"},
			{verb: "DELETE", path: "/apis/apps/v1/namespaces/NS/deployments/web"},
		}},
		{"other workloads", []step{
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/statefulsets/s" + apply, patch: "apply", body: `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"s"},"spec":{"replicas":0,"serviceName":"s","selector":{"matchLabels":{"a":"s"}},"template":{"metadata":{"labels":{"a":"s"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`},
			{verb: "PATCH", path: "/apis/apps/v1/namespaces/NS/daemonsets/d" + apply, patch: "apply", body: `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"d"}},"template":{"metadata":{"labels":{"a":"d"}},"spec":{"nodeSelector":{"no":"node"},"containers":[{"name":"c","image":"i"}]}}}}`},
			{verb: "PATCH", path: "/apis/batch/v1/namespaces/NS/jobs/j" + apply, patch: "apply", body: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`},
			{verb: "PATCH", path: "/apis/batch/v1/namespaces/NS/cronjobs/j" + apply, patch: "apply", body: `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"j"},"spec":{"schedule":"0 0 1 1 *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`},
			{verb: "PATCH", path: "/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers/h" + apply, patch: "apply", body: `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{"maxReplicas":2,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"none"}}}`},
			{verb: "PATCH", path: "/apis/policy/v1/namespaces/NS/poddisruptionbudgets/p" + apply, patch: "apply", body: `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"p"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"a":"b"}}}}`},
			{verb: "PATCH", path: "/api/v1/namespaces/NS/persistentvolumeclaims/p" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"p"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
		}},
		{"Services, networking and access", []step{
			{verb: "PATCH", path: "/api/v1/namespaces/NS/services/s" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"selector":{"a":"b"},"ports":[{"port":80},{"name":"x","port":443,"targetPort":"web"}]}}`},
			{verb: "PATCH", path: "/api/v1/namespaces/NS/services/s" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"selector":{"a":"b"},"ports":[{"name":"w","port":80},{"name":"x","port":443,"targetPort":"web"}]}}`},
			{verb: "PATCH", path: "/api/v1/namespaces/NS/services/s" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"selector":{"a":"b"},"ports":[{"name":"w","port":80},{"name":"x","port":443,"targetPort":"web"}]}}`},
			{verb: "PATCH", path: "/api/v1/namespaces/NS/services/headless" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"headless"},"spec":{"clusterIP":"None","selector":{"a":"b"},"ports":[{"port":80}]}}`},
			{verb: "PATCH", path: "/api/v1/namespaces/NS/serviceaccounts/s" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"s"}}`},
			{verb: "PATCH", path: "/api/v1/namespaces/NS/secrets/s" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"a":"b"},"data":{"c":"ZA=="}}`},
			{verb: "PATCH", path: "/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies/n" + apply, patch: "apply", body: `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"n"},"spec":{"podSelector":{},"ingress":[{"ports":[{"port":80}]}]}}`},
			{verb: "PATCH", path: "/apis/networking.k8s.io/v1/namespaces/NS/ingresses/i" + apply, patch: "apply", body: `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`},
			{verb: "PATCH", path: "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles/r" + apply, patch: "apply", body: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`},
			{verb: "PATCH", path: "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings/r" + apply, patch: "apply", body: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[{"kind":"ServiceAccount","name":"s","namespace":"NS"},{"kind":"User","name":"u"}]}`},
			{verb: "PATCH", path: "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings/r" + apply, patch: "apply", body: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"q"}}`},
			{verb: "PATCH", path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/NS" + apply, patch: "apply", body: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"NS"},"rules":[{"nonResourceURLs":["/metrics"],"verbs":["get"]}]}`},
			{verb: "DELETE", path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/NS"},
			{verb: "PATCH", path: "/apis/coordination.k8s.io/v1/namespaces/NS/leases/l" + apply, patch: "apply", body: `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l"},"spec":{"holderIdentity":"me"}}`},
			{verb: "PATCH", path: "/api/v1/namespaces/NS/limitranges/l" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","max":{"cpu":"1"}}]}}`},
			{verb: "PATCH", path: "/apis/scheduling.k8s.io/v1/priorityclasses/NS" + apply, patch: "apply", body: `{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"NS"},"value":5}`},
			{verb: "DELETE", path: "/apis/scheduling.k8s.io/v1/priorityclasses/NS"},
		}},
		{"webhooks and admission policies", []step{
			{verb: "PATCH", path: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/NS" + apply, patch: "apply", body: `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"NS"},"webhooks":[{"name":"a.b.c","admissionReviewVersions":["v1"],"sideEffects":"None","clientConfig":{"service":{"name":"s","namespace":"NS"}},"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}`},
			{verb: "DELETE", path: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/NS"},
			{verb: "PATCH", path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/NS" + apply, patch: "apply", body: `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"NS"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]},"validations":[{"expression":"true"}]}}`},
			{verb: "DELETE", path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/NS"},
		}},
		{"namespaces must be there, and take what is in them along", []step{
			{verb: "PATCH", path: "/api/v1/namespaces/NS-2/configmaps/a" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`},
			{verb: "POST", path: "/api/v1/namespaces/NS-2/configmaps", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`},
			{verb: "GET", path: "/api/v1/namespaces/NS-2/configmaps/a"},
			{verb: "GET", path: "/api/v1/namespaces/NS-2/configmaps"},
			{verb: "PATCH", path: "/api/v1/namespaces/NS-2" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NS-2","labels":{"a":"b"}}}`},
			{verb: "PATCH", path: "/api/v1/namespaces/NS-2/configmaps/a" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["a.b/c"]}}`},
			{verb: "DELETE", path: "/api/v1/namespaces/NS-2?propagationPolicy=Background"},
			{verb: "DELETE", path: "/api/v1/namespaces/NS-2"},
			{verb: "PATCH", path: "/api/v1/namespaces/NS-2/configmaps/b" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`},
			{verb: "GET", path: "/api/v1/namespaces/NS-2/configmaps/a", until: "deleted"},
			{verb: "PATCH", path: "/api/v1/namespaces/NS-2/configmaps/a?fieldManager=m", patch: "merge", body: `{"metadata":{"finalizers":null}}`},
			{verb: "GET", path: "/api/v1/namespaces/NS-2", until: "gone"},
			{verb: "DELETE", path: "/api/v1/namespaces/kube-system"},
		}},
		{"owners: background, foreground, orphans", []step{
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"o"}}`},
			{verb: "POST", path: maps, agent: "m", body: owned("o1", "${uid 0}", "o")},
			{verb: "DELETE", path: maps + "/o?propagationPolicy=Background"},
			{verb: "GET", path: maps + "/o1", until: "gone"},
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"f"}}`},
			{verb: "POST", path: maps, agent: "m", body: owned("f1", "${uid 4}", "f")},
			{verb: "DELETE", path: maps + "/f?propagationPolicy=Foreground"},
			{verb: "GET", path: maps + "/f", until: "gone"},
			{verb: "GET", path: maps + "/f1"},
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"g"}}`},
			{verb: "POST", path: maps, agent: "m", body: owned("g1", "${uid 9}", "g")},
			{verb: "DELETE", path: maps + "/g?propagationPolicy=Orphan"},
			{verb: "GET", path: maps + "/g", until: "gone"},
			{verb: "GET", path: maps + "/g1", until: "settled"},
		}},
		{"generated names and unknown fields", []step{
			{verb: "POST", path: maps, agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"gen-"},"unknown":1}`},
			{verb: "POST", path: maps + "?fieldValidation=Strict", agent: "m", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"strict"},"unknown":1}`},
			{verb: "PATCH", path: maps + "/u" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"u"},"unknown":1}`},
			{verb: "PATCH", path: maps + "/u" + apply, patch: "apply", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w"}}`},
		}},
		{"what is not served", []step{
			{verb: "GET", path: "/apis/nothing.example.com"},
			{verb: "GET", path: "/apis/nothing.example.com/v1"},
			{verb: "GET", path: "/apis/nothing.example.com/v1/things"},
			{verb: "GET", path: "/apis/apps/v1beta1"},
			{verb: "GET", path: "/api/v1/namespaces/NS/nothings"},
			{verb: "POST", path: "/api/v1/namespaces/NS/configmaps/a", body: `{}`},
			{verb: "GET", path: "/apis/apps"},
			{verb: "GET", path: "/apis/apps/v1"},
			{verb: "GET", path: "/api/v1/namespaces/NS/configmaps/a/status"},
			{verb: "GET", path: "/apis/apps/v1beta1/namespaces/NS/deployments"},
			{verb: "GET", path: "/apis/batch/v1"},
			{verb: "GET", path: "/apis/rbac.authorization.k8s.io/v1"},
			{verb: "GET", path: "/nothing"},
		}},
		customResources(),
	}
}

func owned(name, uid, owner string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"` + owner +
		`","uid":"` + uid + `","blockOwnerDeletion":true}]}}`
}

func deployment(image string, replicas int) string {
	count := `"replicas":0,`
	if replicas > 0 {
		count = ""
	}
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"}},"spec":{` + count +
		`"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:` + image +
		`","ports":[{"containerPort":80}],"env":[{"name":"A","value":"b"}],"resources":{"requests":{"cpu":"0.1"}},"livenessProbe":{"httpGet":{"port":80}}}]}}}}`
}

func customResources() scenario {
	const (
		crds    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		crd     = crds + "/widgets.NS.example.com"
		widgets = "/apis/NS.example.com/v1/namespaces/NS/widgets"
		force   = "?fieldManager=one&force=true"
		meta    = `"apiVersion":"NS.example.com/v1","kind":"Widget","metadata":{"name":"w"}`
	)
	definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.NS.example.com"},"spec":{
"group":"NS.example.com","scope":"Namespaced","names":{"kind":"Widget","plural":"widgets","shortNames":["wd"]},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["size"],"properties":{"size":{"type":"integer","minimum":1},"replicas":{"type":"integer"},
"mode":{"type":"string","default":"auto"},"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"count":{"type":"integer","default":1}}}},
"any":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},"status":{"type":"object","properties":{"state":{"type":"string"},"replicas":{"type":"integer"}}}}}}},
{"name":"v1alpha1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
	return scenario{"a definition and its custom resources", []step{
		{verb: "GET", path: widgets + "/w"},
		{verb: "POST", path: crds, agent: "m", body: definition},
		{verb: "GET", path: crd, until: "settled"},
		{verb: "GET", path: "/apis/NS.example.com", until: "there"},
		{verb: "GET", path: "/apis/NS.example.com/v1", until: "there"},
		{verb: "GET", path: "/apis/NS.example.com/v1alpha1", until: "there"},
		{verb: "GET", path: widgets + "/w"},
		{verb: "PATCH", path: widgets + "/w" + force, patch: "apply", body: `{` + meta + `,"spec":{"size":0}}`},
		{verb: "PATCH", path: widgets + "/w" + force, patch: "apply", body: `{` + meta + `,"spec":{"size":1,"unknown":1,"any":{"x":{"y":1}},"parts":[{"name":"a"},{"name":"b","count":2}]}}`},
		{verb: "PATCH", path: widgets + "/w" + force, patch: "apply", body: `{` + meta + `,"spec":{"size":1,"any":{"x":{"y":1}},"parts":[{"name":"a"},{"name":"b","count":2}]}}`},
		{verb: "PATCH", path: widgets + "/w" + force, patch: "apply", body: `{` + meta + `,"spec":{"size":1,"any":{"x":{"y":1}},"parts":[{"name":"b","count":2}]}}`},
		{verb: "PATCH", path: widgets + "/w?fieldManager=two", patch: "apply", body: `{` + meta + `,"spec":{"size":2}}`},
		{verb: "PATCH", path: widgets + "/w?fieldManager=m", patch: "merge", body: `{"status":{"state":"Ready"}}`},
		{verb: "PATCH", path: widgets + "/w/status?fieldManager=m", patch: "merge", body: `{"status":{"state":"Ready"},"spec":{"size":9}}`},
		{verb: "PATCH", path: widgets + "/w/status?fieldManager=applier&force=true", patch: "apply", body: `{` + meta + `,"status":{"replicas":3}}`},
		{verb: "GET", path: widgets + "/w/scale"},
		{verb: "PATCH", path: widgets + "/w/scale?fieldManager=scaler", patch: "merge", body: `{"spec":{"replicas":5}}`},
		{verb: "GET", path: widgets + "/w"},
		{verb: "GET", path: widgets + "/w", accept: metadataOnly},
		{verb: "GET", path: widgets, accept: metadataListOnly},
		{verb: "GET", path: "/apis/NS.example.com/v1alpha1/namespaces/NS/widgets/w"},
		{verb: "PATCH", path: widgets + "/w?fieldManager=m", patch: "strategic", body: `{"spec":{"size":3}}`},
		{verb: "PUT", path: widgets + "/w", agent: "putter", body: `{` + meta + `,"spec":{"size":4}}`},
		{verb: "POST", path: widgets, agent: "m", body: `{"apiVersion":"NS.example.com/v1","kind":"Widget","metadata":{"generateName":"gen-"},"spec":{"size":1}}`},
		{verb: "POST", path: widgets + "?dryRun=All", agent: "m", body: `{"apiVersion":"NS.example.com/v1","kind":"Widget","metadata":{"name":"dry","finalizers":["a.b/c"]},"spec":{"size":1}}`},
		{verb: "PATCH", path: widgets + "/w?fieldManager=m", patch: "merge", body: `{"metadata":{"finalizers":["a.b/c"]}}`},
		{verb: "PATCH", path: crd + "?fieldManager=m", patch: "merge", body: `{"metadata":{"labels":{"a":"b"}}}`},
		{verb: "GET", path: crd, accept: metadataOnly, until: "settled"},
		{verb: "DELETE", path: crd},
		{verb: "GET", path: crd, accept: metadataOnly, until: "settled"},
		{verb: "GET", path: widgets + "/w", until: "settled"},
		{verb: "PATCH", path: widgets + "/w?fieldManager=m", patch: "merge", body: `{"metadata":{"finalizers":null}}`},
		{verb: "GET", path: crd, until: "gone"},
		{verb: "GET", path: "/apis/NS.example.com/v1", until: "gone"},
		{verb: "GET", path: widgets},
	}}
}
