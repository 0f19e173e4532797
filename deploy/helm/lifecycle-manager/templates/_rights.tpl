{{/* Features that need additional rights. */}}
{{- define "lifecycle-manager.features" -}}
{{- $features := list -}}
{{- if .Values.webhook.enabled }}{{ $features = append $features "webhook" }}{{ end -}}
{{- if .Values.metrics.secure }}{{ $features = append $features "metricsSecure" }}{{ end -}}
{{- if ne .Values.signaturePolicy "ignore" }}{{ $features = append $features "signatures" }}{{ end -}}
{{- if .Values.imagePullSecretForClusters }}{{ $features = append $features "imagePullSecret" }}{{ end -}}
{{- if .Values.registry.credentialsSecret }}{{ $features = append $features "registrySecret" }}{{ end -}}
{{- $inject := "inject-data-from-kcp-modules" -}}
{{- if or (not (hasKey .Values.settings $inject)) (index .Values.settings $inject) }}{{ $features = append $features "injectedSecrets" }}{{ end -}}
{{- if .Values.crds.migrateStoredVersions }}{{ $features = append $features "storedVersions" }}{{ end -}}
{{- $routing := include "lifecycle-manager.routing" . -}}
{{- if ne $routing "none" }}
{{- $features = append $features "watching" }}
{{- $issuer := index .Values.settings "cert-management" | default "self" }}
{{- if eq $routing "istio" }}{{ $features = append $features "istioRouting" }}{{ end -}}
{{- if eq $issuer "cert-manager.io/v1" }}{{ $features = append $features "certManager" }}{{ end -}}
{{- if eq $issuer "cert.gardener.cloud/v1alpha1" }}{{ $features = append $features "gardenerCertificates" }}{{ end -}}
{{- end -}}
{{- toJson $features -}}
{{- end -}}

{{/* Values for the placeholders in files/rights.yaml. */}}
{{- define "lifecycle-manager.rightsNames" -}}
{{- $suffix := include "lifecycle-manager.instanceSuffix" . -}}
{{- dict
  "{settings}" (printf "lifecycle-manager-settings%s" $suffix)
  "{lease}" (printf "lifecycle-manager%s.operator.kyma-project.io" $suffix)
  "{webhook}" (include "lifecycle-manager.webhookName" .)
  "{webhookSecret}" (printf "%s-tls" (include "lifecycle-manager.webhookName" .))
  "{imagePullSecret}" .Values.imagePullSecretForClusters
  "{registrySecret}" .Values.registry.credentialsSecret | toJson -}}
{{- end -}}

{{/* The rules of a component in a scope, as a list. Empty if there are none. Argument: root, component, scope. */}}
{{- define "lifecycle-manager.rules" -}}
{{- $features := include "lifecycle-manager.features" .root | fromJsonArray -}}
{{- $names := include "lifecycle-manager.rightsNames" .root | fromJson -}}
{{- $for := .component.for -}}
{{- $scope := .scope -}}
{{- range .root.Files.Get "files/rights.yaml" | fromYamlArray -}}
{{- $right := . -}}
{{- $mine := false -}}
{{- range .for }}{{ if has . $for }}{{ $mine = true }}{{ end }}{{ end -}}
{{- if and $mine (eq .scope $scope) (or (not .when) (has .when $features)) }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
{{- if .resourceNames }}
  resourceNames:
{{- range .resourceNames }}
  - {{ get $names . | default . }}
{{- end }}
{{- end }}
  verbs: {{ toJson .verbs }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A Role with its binding. Argument: root, component, scope, namespace, name. */}}
{{- define "lifecycle-manager.role" -}}
{{- $rules := include "lifecycle-manager.rules" . -}}
{{- if trim $rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels: {{- include "lifecycle-manager.labels" .root | nindent 4 }}
rules: {{- $rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels: {{- include "lifecycle-manager.labels" .root | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .name }}}
subjects:
- {kind: ServiceAccount, name: {{ .component.name }}, namespace: {{ .root.Release.Namespace }}}
{{- end -}}
{{- end -}}
