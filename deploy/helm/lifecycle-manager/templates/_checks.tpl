{{/* What the schema cannot say. */}}
{{- define "lifecycle-manager.check" -}}
{{- $t := .Values.temporal -}}
{{- if and (not $t.address) (not $t.configFileSecret) (not $t.trial.enabled) -}}
{{- fail "temporal.address is missing: host and port of Temporal's frontend. For a trial, temporal.trial.enabled=true brings a Temporal of its own" -}}
{{- end -}}
{{- if and $t.trial.enabled (or $t.address $t.configFileSecret) -}}
{{- fail "temporal.trial.enabled brings a Temporal of its own: leave temporal.address and temporal.configFileSecret empty" -}}
{{- end -}}
{{- if and (not $t.tls.enabled) (or $t.tls.clientSecret $t.tls.caSecret $t.tls.serverName) -}}
{{- fail "temporal.tls.enabled is false, so that the connection would be open to everybody on its way: set it to true, or leave temporal.tls empty" -}}
{{- end -}}
{{- if and $t.trial.enabled $t.tls.enabled -}}
{{- fail "temporal.trial.enabled brings a Temporal that does not speak TLS: leave temporal.tls empty" -}}
{{- end -}}
{{- if and $t.profile (not $t.configFileSecret) -}}
{{- fail "temporal.profile is one of the file in temporal.configFileSecret, which is missing" -}}
{{- end -}}
{{- if and (ne .Values.shape "split") .Values.workers.autoscaling.enabled -}}
{{- fail "workers.autoscaling is for shape=split: otherwise there are no pods that only work" -}}
{{- end -}}
{{- if and (eq .Values.artifactCache.kind "persistentVolumeClaim") (not .Values.artifactCache.claimName) -}}
{{- fail "artifactCache.claimName is missing: the claim that layers are kept in" -}}
{{- end -}}
{{- if and .Values.artifactCache.claimName (ne .Values.artifactCache.kind "persistentVolumeClaim") -}}
{{- fail "artifactCache.claimName is for artifactCache.kind=persistentVolumeClaim" -}}
{{- end -}}
{{- if and .Values.metrics.certificateSecret (not .Values.metrics.secure) -}}
{{- fail "metrics.certificateSecret is for metrics.secure=true" -}}
{{- end -}}
{{- if and .Values.monitoring.serviceMonitor.enabled .Values.monitoring.podMonitor.enabled -}}
{{- fail "monitoring.serviceMonitor and monitoring.podMonitor would scrape every pod twice: enable one of them" -}}
{{- end -}}
{{- if and (or .Values.workers.former.tag .Values.workers.former.digest) (or (ne .Values.shape "split") (not (index .Values.settings "worker-versioning"))) -}}
{{- fail "workers.former keeps workers of the release before beside the new ones: it needs shape=split and settings.worker-versioning=true, or each would take any work" -}}
{{- end -}}
{{- $routing := include "lifecycle-manager.routing" . -}}
{{- if not (has $routing (list "none" "direct" "istio")) -}}
{{- fail (printf "settings.watcher-routing must be none, direct or istio, not %s" $routing) -}}
{{- end -}}
{{- if and (eq $routing "direct") (not (index .Values.settings "watcher-listener-address")) -}}
{{- fail "settings.watcher-listener-address is missing: the host:port by which agents reach the listener's Service (settings.watcher-routing=direct)" -}}
{{- end -}}
{{- if and (eq $routing "istio") (not (index .Values.settings "listener-gateway-cidrs")) -}}
{{- fail "settings.listener-gateway-cidrs is missing: the address ranges of the gateways, whose word on a client's certificate is trusted (settings.watcher-routing=istio)" -}}
{{- end -}}
{{- $own := list "role" "leader-elect" "leader-election-namespace" "namespaces" "access-secret-namespace" "metrics-bind-address" "metrics-secure" "metrics-cert-dir" "health-probe-bind-address" "kyma-skr-listener-bind-address" "enable-webhooks" "webhook-bind-address" "webhook-service-name" "webhook-secret-name" "webhook-cert-dir" "webhook-url" "oci-registry-cred-secret" "oci-registry-ca-file" "skr-image-pull-secret" "signature-policy" "maintenance-policy-path" "artifact-cache-dir" "stop-timeout" "allow-control-plane-modules" "kubeconfig" "config" -}}
{{- range $name, $_ := .Values.settings -}}
{{- if has $name $own -}}
{{- fail (printf "settings.%s: the chart has a value of its own for this flag" $name) -}}
{{- end -}}
{{- end -}}
{{- if and (index .Values.settings "modules-repository-subpath") (not (index .Values.settings "oci-registry-host")) (not .Values.registry.credentialsSecret) -}}
{{- fail "settings.modules-repository-subpath is below a registry: set settings.oci-registry-host, or registry.credentialsSecret, whose entry names it" -}}
{{- end -}}
{{- if and (eq (index .Values.settings "mode" | default "") "single-cluster") (not .Values.controlPlaneModules.enabled) -}}
{{- fail "settings.mode=single-cluster installs modules into this cluster: set controlPlaneModules.enabled=true, which gives all rights in it" -}}
{{- end -}}
{{- end -}}
