{{/* Checks that the schema cannot express. */}}
{{- define "lifecycle-manager.check" -}}
{{- $t := .Values.temporal -}}
{{- if and (not $t.address) (not $t.configFileSecret) (not $t.trial.enabled) -}}
{{- fail "temporal.address is missing: set it to host and port of Temporal's frontend. For a trial, set temporal.trial.enabled=true to install a Temporal" -}}
{{- end -}}
{{- if and $t.trial.enabled (or $t.address $t.configFileSecret) -}}
{{- fail "temporal.trial.enabled installs its own Temporal: leave temporal.address and temporal.configFileSecret empty" -}}
{{- end -}}
{{- if and (not $t.tls.enabled) (or $t.tls.clientSecret $t.tls.caSecret $t.tls.serverName) -}}
{{- fail "temporal.tls.enabled is false, so anyone on the network path could read the connection: set it to true, or leave temporal.tls empty" -}}
{{- end -}}
{{- if and $t.trial.enabled $t.tls.enabled -}}
{{- fail "temporal.trial.enabled installs a Temporal without TLS: leave temporal.tls empty" -}}
{{- end -}}
{{- if and $t.profile (not $t.configFileSecret) -}}
{{- fail "temporal.profile selects a profile in the file of temporal.configFileSecret, which is missing: set it" -}}
{{- end -}}
{{- if and (ne .Values.shape "split") .Values.workers.autoscaling.enabled -}}
{{- fail "workers.autoscaling needs shape=split: otherwise no pods are only workers" -}}
{{- end -}}
{{- if and (eq .Values.artifactCache.kind "persistentVolumeClaim") (not .Values.artifactCache.claimName) -}}
{{- fail "artifactCache.claimName is missing: set it to the PersistentVolumeClaim for layers" -}}
{{- end -}}
{{- if and .Values.artifactCache.claimName (ne .Values.artifactCache.kind "persistentVolumeClaim") -}}
{{- fail "artifactCache.claimName needs artifactCache.kind=persistentVolumeClaim" -}}
{{- end -}}
{{- if and .Values.metrics.certificateSecret (not .Values.metrics.secure) -}}
{{- fail "metrics.certificateSecret needs metrics.secure=true" -}}
{{- end -}}
{{- if and .Values.monitoring.serviceMonitor.enabled .Values.monitoring.podMonitor.enabled -}}
{{- fail "monitoring.serviceMonitor and monitoring.podMonitor would scrape every pod twice: enable only one of them" -}}
{{- end -}}
{{- if and (or .Values.workers.former.tag .Values.workers.former.digest) (or (ne .Values.shape "split") (not (index .Values.settings "worker-versioning"))) -}}
{{- fail "workers.former keeps workers of the previous release next to the new ones, and each would take any work: set shape=split and settings.worker-versioning=true" -}}
{{- end -}}
{{- $routing := include "lifecycle-manager.routing" . -}}
{{- if not (has $routing (list "none" "direct" "istio")) -}}
{{- fail (printf "settings.watcher-routing must be none, direct or istio, not %s" $routing) -}}
{{- end -}}
{{- if and (eq $routing "direct") (not (index .Values.settings "watcher-listener-address")) -}}
{{- fail "settings.watcher-listener-address is missing: set it to the host:port at which agents reach the listener's Service (settings.watcher-routing=direct)" -}}
{{- end -}}
{{- if and (eq $routing "istio") (not (index .Values.settings "listener-gateway-cidrs")) -}}
{{- fail "settings.listener-gateway-cidrs is missing: set it to the address ranges of the gateways. The listener trusts client certificates in headers only from these (settings.watcher-routing=istio)" -}}
{{- end -}}
{{- $own := list "role" "leader-elect" "leader-election-namespace" "namespaces" "access-secret-namespace" "metrics-bind-address" "metrics-secure" "metrics-cert-dir" "health-probe-bind-address" "kyma-skr-listener-bind-address" "enable-webhooks" "webhook-bind-address" "webhook-service-name" "webhook-secret-name" "webhook-cert-dir" "webhook-url" "oci-registry-cred-secret" "oci-registry-ca-file" "skr-image-pull-secret" "signature-policy" "maintenance-policy-path" "artifact-cache-dir" "stop-timeout" "allow-control-plane-modules" "kubeconfig" "config" -}}
{{- range $name, $_ := .Values.settings -}}
{{- if has $name $own -}}
{{- fail (printf "settings.%s: the chart has its own value for this flag; use that one" $name) -}}
{{- end -}}
{{- end -}}
{{- if and (index .Values.settings "modules-repository-subpath") (not (index .Values.settings "oci-registry-host")) (not .Values.registry.credentialsSecret) -}}
{{- fail "settings.modules-repository-subpath is a path in a registry: set settings.oci-registry-host, or registry.credentialsSecret with an entry for the registry" -}}
{{- end -}}
{{- if and (eq (index .Values.settings "mode" | default "") "single-cluster") (not .Values.controlPlaneModules.enabled) -}}
{{- fail "settings.mode=single-cluster installs modules into this cluster: set controlPlaneModules.enabled=true, which gives the instance all rights in it" -}}
{{- end -}}
{{- end -}}
