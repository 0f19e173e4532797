package upstream

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// agentOwner is upstream's field manager for the objects of its agent.
const agentOwner = "lifecycle-manager"

// agent are the kinds of objects of upstream's agent that matter to who takes it over, of its older and of its newer releases.
// BUNDLE is the authority that its webhook trusts.
const agent = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: skr-webhook-sa, namespace: kyma-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: skr-webhook-config, namespace: kyma-system}
data: {contractVersion: v1}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kyma-reader}
rules: [{apiGroups: [operator.kyma-project.io], resources: [kymas], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: read-kymas}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kyma-reader}
subjects: [{kind: ServiceAccount, name: skr-webhook-sa, namespace: kyma-system}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: skr-webhook-priority}
value: 1000000000
description: upstream's
---
apiVersion: v1
kind: Service
metadata: {name: skr-webhook, namespace: kyma-system}
spec:
  selector: {app: skr-webhook}
  ports: [{name: webhook, port: 443, targetPort: watcher-port}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: skr-webhook, namespace: kyma-system, labels: {app: skr-webhook}}
spec:
  replicas: 1
  selector: {matchLabels: {app: skr-webhook}}
  template:
    metadata: {labels: {app: skr-webhook, operator.kyma-project.io/pod-restart-trigger: "4711", sidecar.istio.io/inject: "false"}}
    spec:
      serviceAccountName: skr-webhook-sa
      priorityClassName: skr-webhook-priority
      containers:
      - name: server
        image: example.com/runtime-watcher:1.0.0
        env: [{name: TLS_CALLBACK, value: "true"}, {name: KCP_ADDR, value: "upstream.example.com:443"}]
        ports: [{name: watcher-port, containerPort: 8443}]
        volumeMounts: [{name: ssl, mountPath: /app/etc/ssl}]
      - {name: request-sidecar, image: example.com/alpine, command: [sleep, 60m]}
      volumes:
      - name: ssl
        secret: {secretName: skr-webhook-tls, items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}, {key: ca.crt, path: ca.crt}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: skr-webhook}
webhooks:
- name: kcp-system.gone.operator.kyma-project.io
  admissionReviewVersions: [v1]
  clientConfig: {caBundle: BUNDLE, service: {name: skr-webhook, namespace: kyma-system, path: /validate/lifecycle-manager}}
  failurePolicy: Ignore
  sideEffects: NoneOnDryRun
  timeoutSeconds: 15
  objectSelector: {matchLabels: {example.com/watched: "true"}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`

// InstallAgent applies the objects of its agent as upstream does, with a certificate and private key, and the authority (PEM)
// that signed it. The namespace kyma-system must be there.
func InstallAgent(ctx context.Context, remote client.Client, certificate map[string][]byte, authority []byte) error {
	documents := strings.Split(strings.ReplaceAll(agent, "BUNDLE", base64.StdEncoding.EncodeToString(authority)), "\n---")
	for _, document := range documents {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			return fmt.Errorf("decode an object: %w", err)
		}
		if err := applyAgent(ctx, remote, u); err != nil {
			return err
		}
	}
	data := map[string]any{}
	for key, value := range certificate {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	secret := &unstructured.Unstructured{Object: map[string]any{"data": data}}
	secret.SetAPIVersion("v1")
	secret.SetKind("Secret")
	secret.SetNamespace("kyma-system")
	secret.SetName("skr-webhook-tls")
	return applyAgent(ctx, remote, secret)
}

func applyAgent(ctx context.Context, remote client.Client, u *unstructured.Unstructured) error {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["operator.kyma-project.io/managed-by"] = "kyma"
	u.SetLabels(labels)
	if err := remote.Patch(ctx, u, client.Apply, client.FieldOwner(agentOwner), client.ForceOwnership); err != nil { //nolint:staticcheck // the same request
		return fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}
