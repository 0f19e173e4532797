package chart_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/test/harness/chart"
)

func withAddress(values map[string]any) map[string]any {
	if values == nil {
		values = map[string]any{}
	}
	if _, given := values["temporal"]; !given {
		values["temporal"] = map[string]any{"address": "temporal:7233"}
	}
	return values
}

func objects(t *testing.T, namespace string, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	return chart.Release{Name: "lifecycle-manager", Namespace: namespace, Values: withAddress(values)}.Objects(t)
}

func as[T any](t *testing.T, object *unstructured.Unstructured) T {
	t.Helper()
	var typed T
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true))
	return typed
}

// The templates fill the list in as package rights does, by which the program checks what it has.
func TestTheRolesAreTheListOfRights(t *testing.T) {
	everything := map[string]any{
		"shape": "split", "namespaces": []any{"kymas"}, "accessSecretNamespace": "access",
		"webhook": map[string]any{"enabled": true}, "metrics": map[string]any{"secure": true}, "signaturePolicy": "require",
		"imagePullSecretForClusters": "pull", "registry": map[string]any{"credentialsSecret": "registry"},
		"crds":     map[string]any{"migrateStoredVersions": true},
		"settings": map[string]any{"watcher-routing": "istio", "listener-gateway-cidrs": []any{"10.0.0.0/16"}, "istio-namespace": "mesh", "cert-management": "cert-manager.io/v1"},
	}
	features := []string{
		rights.Webhook, rights.MetricsSecure, rights.Signatures, rights.ImagePullSecret, rights.RegistrySecret, rights.StoredVersions,
		rights.InjectedSecrets, rights.Watching, rights.IstioRouting, rights.CertManager,
	}
	names := map[string]string{
		"settings": "lifecycle-manager-settings", "lease": "lifecycle-manager.operator.kyma-project.io",
		"webhook": "lifecycle-manager-webhook", "webhookSecret": "lifecycle-manager-webhook-tls",
		"imagePullSecret": "pull", "registrySecret": "registry",
	}
	bare := map[string]any{
		"namespaces": []any{"kymas"}, "webhook": map[string]any{"enabled": false}, "settings": map[string]any{"inject-data-from-kcp-modules": []any{}},
	}
	direct := map[string]any{
		"namespaces": []any{"kymas"}, "webhook": map[string]any{"enabled": false},
		"settings": map[string]any{"watcher-routing": "direct", "watcher-listener-address": "a:443", "istio-namespace": "mesh", "cert-management": "cert.gardener.cloud/v1alpha1"},
	}
	for name, tc := range map[string]struct {
		values                map[string]any
		role, account, access string
		instance              rights.Instance
	}{
		"watchers with everything": {everything, "watchers", "lifecycle-manager-watchers", "access", rights.Instance{Roles: []string{rights.Watchers}, Features: features, Names: names}},
		"workers with everything":  {everything, "workers", "lifecycle-manager-workers", "access", rights.Instance{Roles: []string{rights.Workers}, Features: features, Names: names}},
		"one process with events":  {direct, "all", "lifecycle-manager", "", rights.Instance{Roles: []string{rights.Watchers, rights.Workers}, Features: []string{rights.Watching, rights.GardenerCertificates, rights.InjectedSecrets}, Names: names}},
		"one process with nothing": {bare, "all", "lifecycle-manager", "", rights.Instance{Roles: []string{rights.Watchers, rights.Workers}, Names: names}},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string][]rbacv1.PolicyRule{}
			granted, err := rights.Of(tc.instance)
			require.NoError(t, err)
			namespaces := map[string]string{
				rights.ScopeCluster: "", rights.ScopeNamespaces: "kymas", rights.ScopeAccessSecrets: tc.access, rights.ScopeRelease: "lm-system", rights.ScopeKeys: "kcp-system",
				rights.ScopeIstio: "mesh",
			}
			for _, right := range granted {
				if right.Scope == rights.ScopeAccessSecrets && tc.access == "" {
					continue
				}
				want[namespaces[right.Scope]] = append(want[namespaces[right.Scope]], right.Rule())
			}

			got := map[string][]rbacv1.PolicyRule{}
			bound := map[string]string{}
			all := objects(t, "lm-system", tc.values)
			for _, object := range all {
				if object.GetKind() == "RoleBinding" || object.GetKind() == "ClusterRoleBinding" {
					binding := as[rbacv1.RoleBinding](t, object)
					for _, subject := range binding.Subjects {
						require.Equal(t, "lm-system", subject.Namespace)
						bound[object.GetNamespace()+"/"+binding.RoleRef.Name] = subject.Name
					}
				}
			}
			for _, object := range all {
				if (object.GetKind() == "Role" || object.GetKind() == "ClusterRole") && bound[object.GetNamespace()+"/"+object.GetName()] == tc.account {
					got[object.GetNamespace()] = append(got[object.GetNamespace()], as[rbacv1.Role](t, object).Rules...)
				}
			}
			require.Equal(t, want, got)
			for _, rules := range got {
				for _, rule := range rules {
					content, err := json.Marshal(rule)
					require.NoError(t, err)
					require.NotContains(t, string(content), "*")
				}
			}
		})
	}
}

func TestThePodsAreRestrictedAndHaveOneTokenEach(t *testing.T) {
	deployments := 0
	for _, object := range objects(t, "kcp-system", map[string]any{"shape": "split"}) {
		switch object.GetKind() {
		case "ServiceAccount":
			automount, found, err := unstructured.NestedBool(object.Object, "automountServiceAccountToken")
			require.NoError(t, err)
			require.True(t, found && !automount, object.GetName())
		case "Deployment":
			deployments++
			deployment := as[appsv1.Deployment](t, object)
			spec := deployment.Spec.Template.Spec
			require.True(t, *spec.SecurityContext.RunAsNonRoot)
			require.True(t, *spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem)
			require.Equal(t, deployment.Name, spec.ServiceAccountName)
			require.NotNil(t, spec.Containers[0].ReadinessProbe)
			require.NotEmpty(t, spec.Containers[0].Resources.Limits.Memory().String())
		}
	}
	require.Equal(t, 2, deployments)
}

// Workers of the release before have a Deployment, a selector, an account and an image of their own.
func TestFormerWorkersRunBesideTheNewOnes(t *testing.T) {
	images, selectors := map[string]string{}, map[string]bool{}
	for _, object := range objects(t, "kcp-system", map[string]any{
		"shape": "split", "image": map[string]any{"repository": "registry.example/lm", "tag": "2.0.0"},
		"settings": map[string]any{"worker-versioning": true}, "workers": map[string]any{"former": map[string]any{"tag": "1.0.0"}},
	}) {
		if object.GetKind() != "Deployment" {
			continue
		}
		deployment := as[appsv1.Deployment](t, object)
		spec := deployment.Spec.Template.Spec
		images[deployment.Name] = spec.Containers[0].Image
		selectors[deployment.Spec.Selector.MatchLabels["app.kubernetes.io/component"]] = true
		require.Equal(t, deployment.Name, spec.ServiceAccountName)
		require.Contains(t, spec.Containers[0].Args, "--worker-versioning=true")
	}
	require.Equal(t, map[string]string{
		"lifecycle-manager-watchers": "registry.example/lm:2.0.0", "lifecycle-manager-workers": "registry.example/lm:2.0.0", "lifecycle-manager-workers-former": "registry.example/lm:1.0.0",
	}, images)
	require.Len(t, selectors, 3)
}

// What the SDK reads is what the values say, with each credential from its Secret.
func TestTemporalIsReachedAsTheValuesSay(t *testing.T) {
	environment := func(temporal map[string]any) (map[string]string, map[string]string) {
		variables, mounts := map[string]string{}, map[string]string{}
		for _, object := range objects(t, "kcp-system", map[string]any{"temporal": temporal}) {
			if object.GetKind() != "Deployment" {
				continue
			}
			spec := as[appsv1.Deployment](t, object).Spec.Template.Spec
			for _, variable := range spec.Containers[0].Env {
				variables[variable.Name] = variable.Value
				if from := variable.ValueFrom; from != nil {
					variables[variable.Name] = from.SecretKeyRef.Name + "/" + from.SecretKeyRef.Key
				}
			}
			for _, mount := range spec.Containers[0].VolumeMounts {
				for _, volume := range spec.Volumes {
					if volume.Name == mount.Name && volume.Secret != nil {
						mounts[mount.MountPath] = volume.Secret.SecretName
					}
				}
			}
		}
		delete(variables, "GOMEMLIMIT")
		return variables, mounts
	}
	variables, mounts := environment(map[string]any{
		"address": "temporal:7233", "namespace": "fleet", "apiKeySecret": map[string]any{"name": "key"},
		"tls": map[string]any{"enabled": true, "clientSecret": "client", "caSecret": "ca", "serverName": "temporal.internal"},
	})
	const client, authority = "/etc/lifecycle-manager/temporal-client", "/etc/lifecycle-manager/temporal-ca"
	require.Equal(t, map[string]string{
		"TEMPORAL_ADDRESS": "temporal:7233", "TEMPORAL_NAMESPACE": "fleet", "TEMPORAL_API_KEY": "key/api-key", "TEMPORAL_TLS": "true",
		"TEMPORAL_TLS_CLIENT_CERT_PATH": client + "/tls.crt", "TEMPORAL_TLS_CLIENT_KEY_PATH": client + "/tls.key",
		"TEMPORAL_TLS_SERVER_CA_CERT_PATH": authority + "/ca.crt", "TEMPORAL_TLS_SERVER_NAME": "temporal.internal",
	}, variables)
	require.Equal(t, map[string]string{client: "client", authority: "ca"}, mounts)

	variables, mounts = environment(map[string]any{"configFileSecret": "file", "profile": "production"})
	require.Equal(t, map[string]string{"TEMPORAL_CONFIG_FILE": "/etc/lifecycle-manager/temporal/temporal.toml", "TEMPORAL_PROFILE": "production"}, variables)
	require.Equal(t, map[string]string{"/etc/lifecycle-manager/temporal": "file"}, mounts)
}

// By default a drain, a lost node and a neighbour that needs more are provided for, and each is switched off by its value.
func TestPodsAreProtectedUnlessThatIsSwitchedOff(t *testing.T) {
	kinds := func(values map[string]any) map[string]int {
		count := map[string]int{}
		for _, object := range objects(t, "kcp-system", values) {
			count[object.GetKind()]++
			if object.GetKind() == "Deployment" {
				spec := as[appsv1.Deployment](t, object).Spec.Template.Spec
				require.Len(t, spec.TopologySpreadConstraints, 2, "nodes and zones")
				for _, constraint := range spec.TopologySpreadConstraints {
					require.NotEmpty(t, constraint.LabelSelector.MatchLabels)
				}
			}
		}
		return count
	}
	on := kinds(map[string]any{"shape": "split", "workers": map[string]any{"autoscaling": map[string]any{"enabled": true}}})
	off := kinds(map[string]any{
		"shape": "split", "podDisruptionBudget": map[string]any{"enabled": false}, "networkPolicy": map[string]any{"enabled": false},
		"priorityClass": map[string]any{"create": false},
	})
	for kind, want := range map[string]int{"PodDisruptionBudget": 2, "NetworkPolicy": 1, "PriorityClass": 1, "HorizontalPodAutoscaler": 1} {
		require.Equal(t, want, on[kind], kind)
		require.Zero(t, off[kind], kind)
	}
}

// Accounts and roles that somebody else makes are made by nobody here, whatever is switched on.
func TestWithoutRBACNoRoleIsBound(t *testing.T) {
	for _, object := range objects(t, "kcp-system", map[string]any{
		"rbac": map[string]any{"create": false}, "metrics": map[string]any{"secure": true}, "monitoring": map[string]any{"serviceMonitor": map[string]any{"enabled": true}},
	}) {
		require.NotEqual(t, "rbac.authorization.k8s.io", object.GroupVersionKind().Group, object.GetName())
	}
}

// Pods that watch listen for events where there are any, and a Service leads to them and to no others.
func TestEventsReachThePodsThatWatch(t *testing.T) {
	direct := map[string]any{"watcher-routing": "direct", "watcher-listener-address": "a.example:443"}
	istio := map[string]any{"watcher-routing": "istio", "listener-gateway-cidrs": []any{"10.0.0.0/16"}}
	for name, tc := range map[string]struct {
		values    map[string]any
		port      corev1.ServicePort
		listening []string
	}{
		"none":   {map[string]any{}, corev1.ServicePort{}, nil},
		"direct": {map[string]any{"settings": direct}, corev1.ServicePort{Name: "tls-events", Port: 443}, []string{"lifecycle-manager"}},
		"istio":  {map[string]any{"settings": istio, "shape": "split"}, corev1.ServicePort{Name: "http-events", Port: 8082}, []string{"lifecycle-manager-watchers"}},
		"a port": {
			map[string]any{"settings": direct, "listener": map[string]any{"service": map[string]any{"port": 9443, "type": "LoadBalancer"}}},
			corev1.ServicePort{Name: "tls-events", Port: 9443},
			[]string{"lifecycle-manager"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var service *corev1.Service
			var listening []string
			pods, letIn := map[string]map[string]string{}, false
			for _, object := range objects(t, "kcp-system", tc.values) {
				switch {
				case object.GetKind() == "Service" && object.GetName() == "lifecycle-manager-events":
					events := as[corev1.Service](t, object)
					service = &events
				case object.GetKind() == "Deployment":
					deployment := as[appsv1.Deployment](t, object)
					container := deployment.Spec.Template.Spec.Containers[0]
					pods[deployment.Name] = deployment.Spec.Template.Labels
					open := slices.ContainsFunc(container.Ports, func(port corev1.ContainerPort) bool { return port.Name == "events" && port.ContainerPort == 8082 })
					require.Equal(t, open, slices.Contains(container.Args, "--kyma-skr-listener-bind-address=:8082"), deployment.Name)
					if open {
						listening = append(listening, deployment.Name)
					}
				case object.GetKind() == "NetworkPolicy":
					for _, rule := range as[networkingv1.NetworkPolicy](t, object).Spec.Ingress {
						letIn = letIn || rule.Ports[0].Port.String() == "events"
					}
				}
			}
			require.Equal(t, tc.listening, listening)
			require.Equal(t, tc.listening != nil, letIn)
			if tc.listening == nil {
				require.Nil(t, service)
				return
			}
			require.NotNil(t, service)
			require.Equal(t, tc.port.Port, service.Spec.Ports[0].Port)
			require.Equal(t, tc.port.Name, service.Spec.Ports[0].Name)
			require.Equal(t, "events", service.Spec.Ports[0].TargetPort.String())
			for deployment, labels := range pods {
				selected := klabels.SelectorFromSet(service.Spec.Selector).Matches(klabels.Set(labels))
				require.Equal(t, slices.Contains(tc.listening, deployment), selected, deployment)
			}
		})
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		values map[string]any
		says   string
	}{
		"no Temporal":                 {map[string]any{"temporal": map[string]any{}}, "temporal.address is missing"},
		"two Temporals":               {map[string]any{"temporal": map[string]any{"address": "a:1", "trial": map[string]any{"enabled": true}}}, "leave temporal.address"},
		"no namespace":                {map[string]any{"namespaces": []any{}}, "namespaces"},
		"an unknown value":            {map[string]any{"replicas": 3}, "replicas"},
		"an unknown flag":             {map[string]any{"settings": map[string]any{"resync-intervall": "5m"}}, "resync-intervall"},
		"a flag of a wrong type":      {map[string]any{"settings": map[string]any{"remote-slots": "many"}}, "remote-slots"},
		"a flag that is a value":      {map[string]any{"settings": map[string]any{"role": "all"}}, "role"},
		"single cluster, no rights":   {map[string]any{"settings": map[string]any{"mode": "single-cluster"}}, "controlPlaneModules.enabled"},
		"former workers, no versions": {map[string]any{"shape": "split", "workers": map[string]any{"former": map[string]any{"tag": "1.0.0"}}}, "settings.worker-versioning"},
		"TLS that is off":             {map[string]any{"temporal": map[string]any{"address": "a:1", "tls": map[string]any{"caSecret": "ca"}}}, "temporal.tls.enabled is false"},
		"a trial with TLS":            {map[string]any{"temporal": map[string]any{"trial": map[string]any{"enabled": true}, "tls": map[string]any{"enabled": true}}}, "installs a Temporal without TLS"},
		"a profile of no file":        {map[string]any{"temporal": map[string]any{"address": "a:1", "profile": "p"}}, "temporal.configFileSecret"},
		"autoscaling of no workers":   {map[string]any{"workers": map[string]any{"autoscaling": map[string]any{"enabled": true}}}, "shape=split"},
		"a claim that is not used":    {map[string]any{"artifactCache": map[string]any{"claimName": "layers"}}, "artifactCache.kind"},
		"an unknown routing":          {map[string]any{"settings": map[string]any{"watcher-routing": "nginx"}}, "none, direct or istio"},
		"direct to nowhere":           {map[string]any{"settings": map[string]any{"watcher-routing": "direct"}}, "settings.watcher-listener-address"},
		"no gateways":                 {map[string]any{"settings": map[string]any{"watcher-routing": "istio"}}, "settings.listener-gateway-cidrs"},
		"the listener's address":      {map[string]any{"settings": map[string]any{"kyma-skr-listener-bind-address": ":1"}}, "kyma-skr-listener-bind-address"},
		"scraped twice":               {map[string]any{"monitoring": map[string]any{"podMonitor": map[string]any{"enabled": true}, "serviceMonitor": map[string]any{"enabled": true}}}, "scrape every pod twice"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := chart.Load(t)
			values, err := chartutil.ToRenderValues(loaded, withAddress(tc.values), chartutil.ReleaseOptions{Name: "x", Namespace: "kcp-system"}, chartutil.DefaultCapabilities)
			if err == nil {
				_, err = engine.Render(loaded, values)
			}
			require.ErrorContains(t, err, tc.says)
		})
	}
}
