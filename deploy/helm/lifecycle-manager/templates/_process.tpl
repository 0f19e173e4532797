{{/* The arguments of a component's process, as a list. Argument: root, component. */}}
{{- define "lifecycle-manager.args" -}}
{{- $v := .root.Values -}}
{{- $release := .root.Release.Namespace -}}
- run
- --role={{ .component.role }}
{{- if ne .component.role "workers" }}
- --leader-elect
{{- end }}
- --leader-election-namespace={{ $release }}
- --namespaces={{ join "," (uniq $v.namespaces) }}
{{- with $v.accessSecretNamespace }}
- --access-secret-namespace={{ . }}
{{- end }}
- --metrics-bind-address=:8080
{{- if $v.metrics.secure }}
- --metrics-secure
{{- if $v.metrics.certificateSecret }}
- --metrics-cert-dir=/etc/lifecycle-manager/metrics
{{- end }}
{{- end }}
- --health-probe-bind-address=:8081
{{- if and $v.webhook.enabled (ne .component.role "workers") }}
- --enable-webhooks
- --webhook-bind-address=:9443
- --webhook-service-name={{ $release }}/{{ include "lifecycle-manager.webhookName" .root }}
- --webhook-secret-name={{ include "lifecycle-manager.webhookName" .root }}-tls
- --webhook-cert-dir=/tmp/webhook
{{- end }}
{{- if and (ne (include "lifecycle-manager.routing" .root) "none") (ne .component.role "workers") }}
- --kyma-skr-listener-bind-address=:8082
{{- end }}
{{- with $v.registry.credentialsSecret }}
- --oci-registry-cred-secret=kcp-system/{{ . }}
{{- end }}
{{- if $v.registry.caConfigMap }}
- --oci-registry-ca-file=/etc/lifecycle-manager/registry/ca.crt
{{- end }}
{{- with $v.imagePullSecretForClusters }}
- --skr-image-pull-secret={{ . }}
{{- end }}
- --signature-policy={{ $v.signaturePolicy }}
{{- if $v.maintenancePolicy }}
- --maintenance-policy-path=/etc/lifecycle-manager/maintenance/policy.json
{{- end }}
{{- if $v.controlPlaneModules.enabled }}
- --allow-control-plane-modules
{{- end }}
{{- if ne $v.artifactCache.kind "none" }}
- --artifact-cache-dir=/var/cache/lifecycle-manager
{{- end }}
- --stop-timeout={{ $v.stopTimeoutSeconds }}s
{{- range $name, $value := $v.settings }}
{{- if kindIs "slice" $value }}
- {{ printf "--%s=%s" $name (join "," $value) | quote }}
{{- else if kindIs "string" $value }}
- {{ printf "--%s=%s" $name $value | quote }}
{{- else }}
- {{ printf "--%s=%s" $name (toJson $value) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The environment of a process. Argument: root, values of the component. */}}
{{- define "lifecycle-manager.env" -}}
{{- $t := .root.Values.temporal -}}
- {name: GOMEMLIMIT, value: {{ .values.goMemoryLimit | quote }}}
{{- with include "lifecycle-manager.temporalAddress" .root }}
- {name: TEMPORAL_ADDRESS, value: {{ . | quote }}}
{{- end }}
{{- if not $t.configFileSecret }}
- {name: TEMPORAL_NAMESPACE, value: {{ $t.namespace | quote }}}
{{- else }}
- {name: TEMPORAL_CONFIG_FILE, value: /etc/lifecycle-manager/temporal/temporal.toml}
{{- with $t.profile }}
- {name: TEMPORAL_PROFILE, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- if $t.apiKeySecret.name }}
- name: TEMPORAL_API_KEY
  valueFrom: {secretKeyRef: {name: {{ $t.apiKeySecret.name }}, key: {{ $t.apiKeySecret.key }}}}
{{- end }}
{{- if $t.tls.enabled }}
- {name: TEMPORAL_TLS, value: "true"}
{{- if $t.tls.clientSecret }}
- {name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: /etc/lifecycle-manager/temporal-client/tls.crt}
- {name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: /etc/lifecycle-manager/temporal-client/tls.key}
{{- end }}
{{- if $t.tls.caSecret }}
- {name: TEMPORAL_TLS_SERVER_CA_CERT_PATH, value: /etc/lifecycle-manager/temporal-ca/ca.crt}
{{- end }}
{{- with $t.tls.serverName }}
- {name: TEMPORAL_TLS_SERVER_NAME, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- with $t.env }}
{{ toYaml . }}
{{- end }}
{{- with .root.Values.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Volumes and their mount paths, as a list of {name, path, readOnly, source}. Argument: root. */}}
{{- define "lifecycle-manager.volumes" -}}
{{- $v := .Values -}}
- {name: tmp, path: /tmp, source: {emptyDir: {sizeLimit: 64Mi}}}
{{- if eq $v.artifactCache.kind "emptyDir" }}
- {name: artifacts, path: /var/cache/lifecycle-manager, source: {emptyDir: {sizeLimit: {{ $v.artifactCache.sizeLimit }}}}}
{{- else if eq $v.artifactCache.kind "persistentVolumeClaim" }}
- {name: artifacts, path: /var/cache/lifecycle-manager, source: {persistentVolumeClaim: {claimName: {{ $v.artifactCache.claimName }}}}}
{{- end }}
{{- with $v.metrics.certificateSecret }}
- {name: metrics-certificate, path: /etc/lifecycle-manager/metrics, readOnly: true, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- with $v.registry.caConfigMap }}
- {name: registry-authorities, path: /etc/lifecycle-manager/registry, readOnly: true, source: {configMap: {name: {{ . }}}}}
{{- end }}
{{- if $v.maintenancePolicy }}
- {name: maintenance-policy, path: /etc/lifecycle-manager/maintenance, readOnly: true, source: {configMap: {name: {{ include "lifecycle-manager.fullname" . }}-maintenance}}}
{{- end }}
{{- with $v.temporal.configFileSecret }}
- {name: temporal-configuration, path: /etc/lifecycle-manager/temporal, readOnly: true, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- if $v.temporal.tls.enabled }}
{{- with $v.temporal.tls.clientSecret }}
- {name: temporal-client, path: /etc/lifecycle-manager/temporal-client, readOnly: true, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- with $v.temporal.tls.caSecret }}
- {name: temporal-ca, path: /etc/lifecycle-manager/temporal-ca, readOnly: true, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- end }}
{{- end -}}
