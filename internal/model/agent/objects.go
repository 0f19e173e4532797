package agent

import (
	"fmt"
	"maps"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const (
	// mountPath is the folder of the certificate, for our agent and for upstream's.
	mountPath = "/app/etc/ssl"
	// priority is the highest priority that is not reserved for the cluster itself. It must equal the priority of
	// upstream's agent: the value of a PriorityClass cannot change, so another value could not be applied over
	// upstream's.
	priority = 1000000000
	// webhookTimeout is how long the API server waits for an agent, in seconds. The agent reads a request for at most 2
	// s, then answers at once.
	webhookTimeout = 3
	// portWebhook and portMetrics are the names of the container's ports.
	portWebhook, portMetrics = "watcher-port", "metrics-port"
)

// Objects returns the objects of the agent for the namespace of the remote Kyma. The caller may change them. A limit
// that is not a quantity is a fault of kind Rejected.
func (s Spec) Objects(namespace string) ([]*unstructured.Unstructured, error) {
	deployment, err := s.deployment()
	if err != nil {
		return nil, err
	}
	typed := []struct {
		group, version, kind string
		namespaced           bool
		object               runtime.Object
	}{
		{"scheduling.k8s.io", "v1", "PriorityClass", false, &schedulingv1.PriorityClass{
			ObjectMeta: named(shared.AgentPriorityClass), Value: priority, Description: "The agent that reports changes to Lifecycle Manager.",
		}},
		{"", "v1", "Service", true, service(shared.AgentName, "webhook", 443, portWebhook)},
		{"", "v1", "Service", true, service(shared.AgentMetricsService, "http-metrics", shared.AgentMetricsPort, portMetrics)},
		{"apps", "v1", "Deployment", true, deployment},
		{"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", false, s.webhooks(namespace)},
	}
	var all []*unstructured.Unstructured
	for _, each := range typed {
		u, err := toUnstructured(each.object, each.group, each.version, each.kind)
		if err != nil {
			return nil, err
		}
		if each.namespaced {
			u.SetNamespace(namespace)
		}
		all = append(all, u)
	}
	for _, policy := range s.networkPolicies() {
		u, err := toUnstructured(policy, "networking.k8s.io", "v1", "NetworkPolicy")
		if err != nil {
			return nil, err
		}
		u.SetNamespace(namespace)
		all = append(all, u)
	}
	return all, nil
}

// toUnstructured leaves out fields that only a server sets, and empty fields.
func toUnstructured(object runtime.Object, group, version, kind string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s of the agent: %w", kind, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion(metav1.GroupVersion{Group: group, Version: version}.String())
	u.SetKind(kind)
	for _, path := range [][]string{
		{"status"}, {"metadata", "creationTimestamp"}, {"spec", "template", "metadata", "creationTimestamp"}, {"spec", "strategy"},
	} {
		unstructured.RemoveNestedField(u.Object, path...)
	}
	return u, nil
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: labels()}
}

// labels returns the labels that select the agent's pods. Upstream's agent has the same labels.
func labels() map[string]string { return map[string]string{"app": shared.AgentName} }

func service(name, port string, number int32, target string) *corev1.Service {
	return &corev1.Service{ObjectMeta: named(name), Spec: corev1.ServiceSpec{
		Selector: labels(),
		Ports:    []corev1.ServicePort{{Name: port, Port: number, TargetPort: intstr.FromString(target), Protocol: corev1.ProtocolTCP}},
	}}
}

// deployment returns the Deployment of the agent. It configures the agent only by the environment, which upstream's
// agent reads too.
func (s Spec) deployment() (*appsv1.Deployment, error) {
	limits, err := s.limits()
	if err != nil {
		return nil, err
	}
	pod := labels()
	pod["sidecar.istio.io/inject"] = "false" // the API server calls the agent and is in no mesh
	return &appsv1.Deployment{ObjectMeta: named(shared.AgentName), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1),
		Selector: &metav1.LabelSelector{MatchLabels: labels()},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: pod},
			Spec: corev1.PodSpec{
				PriorityClassName: shared.AgentPriorityClass,
				// A pod has this account anyway. It is named because the API server would otherwise fill it in from the
				// deprecated field serviceAccount, with the account that upstream's Deployment has there.
				ServiceAccountName:           "default",
				AutomountServiceAccountToken: ptr.To(false), // the agent sends no requests to the API server
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{
					Name: "server", Image: s.Image, ImagePullPolicy: corev1.PullIfNotPresent,
					Env: s.environment(),
					Ports: []corev1.ContainerPort{
						{Name: portWebhook, ContainerPort: shared.AgentPort, Protocol: corev1.ProtocolTCP},
						{Name: portMetrics, ContainerPort: shared.AgentMetricsPort, Protocol: corev1.ProtocolTCP},
					},
					// Upstream's agent has no health endpoints. Both agents open the port once they are ready.
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(portWebhook)}}},
					Resources:      limits,
					VolumeMounts:   []corev1.VolumeMount{{Name: "ssl", MountPath: mountPath, ReadOnly: true}},
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true), Privileged: ptr.To(false),
						Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
				}},
				Volumes: []corev1.Volume{{Name: "ssl", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: shared.AgentSecret, DefaultMode: ptr.To[int32](0o444)},
				}}},
			},
		},
	}}, nil
}

// environment returns the configuration of the agent.
func (s Spec) environment() []corev1.EnvVar {
	all := []corev1.EnvVar{
		{Name: "KCP_ADDR", Value: s.Listener}, {Name: "KCP_CONTRACT", Value: "v2"},
		{Name: "WEBHOOK_PORT", Value: fmt.Sprint(shared.AgentPort)}, {Name: "METRICS_PORT", Value: fmt.Sprint(shared.AgentMetricsPort)},
		{Name: "CA_CERT", Value: mountPath + "/" + shared.CertificateAuthorityKey},
		{Name: "TLS_CERT", Value: mountPath + "/" + shared.CertificateKey}, {Name: "TLS_KEY", Value: mountPath + "/" + shared.PrivateKeyKey},
	}
	if s.FIPS {
		// Go's TLS prefers a hybrid key exchange. Part of it is not approved for FIPS, so it is turned off.
		all = append(all, corev1.EnvVar{Name: "GODEBUG", Value: "fips140=only,tlsmlkem=0"})
	}
	return all
}

// limits returns the resources of the container. The requests are fixed, but never exceed the limits.
func (s Spec) limits() (corev1.ResourceRequirements, error) {
	all := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi"), corev1.ResourceCPU: resource.MustParse("10m")},
		Limits:   corev1.ResourceList{},
	}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceMemory: s.MemoryLimit, corev1.ResourceCPU: s.CPULimit} {
		if text == "" {
			continue
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return all, fault.New(fault.Rejected, ReasonInvalidSpec, "the agent's %s limit %q is not a quantity: %w", name, text, err)
		}
		all.Limits[name] = quantity
		if request := all.Requests[name]; request.Cmp(quantity) > 0 {
			all.Requests[name] = quantity
		}
	}
	return all, nil
}

// webhooks returns a configuration with one webhook for each Watcher. The webhooks never refuse a request. If the agent
// does not answer, the API server continues without it.
func (s Spec) webhooks(namespace string) *admissionv1.ValidatingWebhookConfiguration {
	all := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: named(shared.AgentName)}
	for _, watch := range s.Watches {
		all.Webhooks = append(all.Webhooks, admissionv1.ValidatingWebhook{
			Name: watch.webhookName(),
			ClientConfig: admissionv1.WebhookClientConfig{
				CABundle: []byte(s.Authorities),
				Service:  &admissionv1.ServiceReference{Namespace: namespace, Name: shared.AgentName, Path: ptr.To(shared.ValidatePath(watch.Manager))},
			},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
				Rule:       admissionv1.Rule{APIGroups: []string{watch.Group}, APIVersions: []string{watch.Version}, Resources: []string{watch.resource()}},
			}},
			FailurePolicy:           ptr.To(admissionv1.Ignore),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNoneOnDryRun),
			TimeoutSeconds:          ptr.To[int32](webhookTimeout),
			AdmissionReviewVersions: []string{"v1"},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: maps.Clone(watch.Labels)},
		})
	}
	return all
}

// networkPolicies returns the policies that allow the agent's traffic in a cluster where another policy forbids all
// traffic. The policy for the webhook allows any caller: the API server runs outside the cluster, and its address
// differs from provider to provider.
func (s Spec) networkPolicies() []*networkingv1.NetworkPolicy {
	port := func(protocol corev1.Protocol, number int) networkingv1.NetworkPolicyPort {
		return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: ptr.To(intstr.FromInt(number))}
	}
	policy := func(name string) *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{ObjectMeta: named(name), Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: labels()},
		}}
	}
	ingress := func(name string, number int, from ...networkingv1.NetworkPolicyPeer) *networkingv1.NetworkPolicy {
		p := policy(name)
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: from, Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, number)}}}
		return p
	}
	egress := func(name string, ports ...networkingv1.NetworkPolicyPort) *networkingv1.NetworkPolicy {
		p := policy(name)
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
		p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{Ports: ports}}
		return p
	}
	scraper := networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"networking.kyma-project.io/metrics-scraping": "allowed"}},
	}
	return []*networkingv1.NetworkPolicy{
		ingress(shared.AgentPolicyWebhook, shared.AgentPort),
		ingress(shared.AgentPolicyMetrics, shared.AgentMetricsPort, scraper),
		egress(shared.AgentPolicyEvents, port(corev1.ProtocolTCP, 443), port(corev1.ProtocolTCP, s.listenerPort())),
		egress(shared.AgentPolicyDNS, port(corev1.ProtocolUDP, 53), port(corev1.ProtocolTCP, 53), port(corev1.ProtocolUDP, 8053), port(corev1.ProtocolTCP, 8053)),
	}
}
