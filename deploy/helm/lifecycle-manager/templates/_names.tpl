{{- define "lifecycle-manager.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "lifecycle-manager.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "lifecycle-manager.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "lifecycle-manager.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The name of objects without a namespace. Two releases in two namespaces may have the same name. */}}
{{- define "lifecycle-manager.clusterName" -}}
{{- if eq .Release.Namespace "kcp-system" -}}
{{- include "lifecycle-manager.fullname" . -}}
{{- else -}}
{{- printf "%s-%s" .Release.Namespace (include "lifecycle-manager.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/* The components. Each is one Deployment with the role of its processes. */}}
{{- define "lifecycle-manager.components" -}}
{{- $full := include "lifecycle-manager.fullname" . -}}
{{- if eq .Values.shape "split" -}}
- {name: {{ $full }}-watchers, role: watchers, for: [watchers], values: leader}
- {name: {{ $full }}-workers, role: workers, for: [workers], values: workers}
{{- if or .Values.workers.former.tag .Values.workers.former.digest }}
- {name: {{ $full }}-workers-former, role: workers, label: workers-former, for: [workers], values: workers, former: true}
{{- end }}
{{- else -}}
- {name: {{ $full }}, role: all, for: [watchers, workers], values: leader}
{{- end -}}
{{- end -}}

{{/* The label of a component's pods. */}}
{{- define "lifecycle-manager.componentLabel" -}}
{{ .label | default .role }}
{{- end -}}

{{/* An image. Argument: repository, tag, digest. */}}
{{- define "lifecycle-manager.image" -}}
{{ if .digest }}{{ printf "%s@%s" .repository .digest }}{{ else }}{{ printf "%s:%s" .repository .tag }}{{ end }}
{{- end -}}

{{/* The suffix for names of instances that share a control plane. The program computes the same suffix. */}}
{{- define "lifecycle-manager.instanceSuffix" -}}
{{- $managedBy := index .Values.settings "managed-by" | default "lifecycle-manager" -}}
{{- if ne $managedBy "lifecycle-manager" -}}
-{{ sha256sum $managedBy | trunc 8 }}
{{- end -}}
{{- end -}}

{{- define "lifecycle-manager.webhookName" -}}
{{ include "lifecycle-manager.fullname" . }}-webhook
{{- end -}}

{{/* How events from remote clusters arrive: none, direct or istio. */}}
{{- define "lifecycle-manager.routing" -}}
{{ index .Values.settings "watcher-routing" | default "none" }}
{{- end -}}

{{/* The namespace with the certificates of agents and of the listener. */}}
{{- define "lifecycle-manager.istioNamespace" -}}
{{ index .Values.settings "istio-namespace" | default "istio-system" }}
{{- end -}}

{{- define "lifecycle-manager.eventsName" -}}
{{ include "lifecycle-manager.fullname" . }}-events
{{- end -}}

{{/* The port of the listener's Service. */}}
{{- define "lifecycle-manager.eventsPort" -}}
{{ int .Values.listener.service.port | default (ternary 443 8082 (eq (include "lifecycle-manager.routing" .) "direct")) }}
{{- end -}}

{{- define "lifecycle-manager.priorityClass" -}}
{{- if .Values.priorityClass.name -}}
{{ .Values.priorityClass.name }}
{{- else if .Values.priorityClass.create -}}
{{ include "lifecycle-manager.clusterName" . }}
{{- end -}}
{{- end -}}

{{- define "lifecycle-manager.temporalAddress" -}}
{{- if .Values.temporal.trial.enabled -}}
{{ include "lifecycle-manager.fullname" . }}-trial-temporal.{{ .Release.Namespace }}.svc:7233
{{- else -}}
{{ .Values.temporal.address }}
{{- end -}}
{{- end -}}
