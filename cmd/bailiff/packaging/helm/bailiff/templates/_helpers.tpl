{{- define "bailiff.name" -}}
{{- if contains "bailiff" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-bailiff" (.Release.Name | trunc 44 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "bailiff.selector" -}}
app.kubernetes.io/name: bailiff
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bailiff.labels" -}}
{{ include "bailiff.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "bailiff.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "bailiff.hosted" -}}
{{- if eq (toString .Values.settings.SVC_HOSTED) "true" }}true{{ end }}
{{- end }}

{{- define "bailiff.policyConfigMap" -}}
{{- .Values.policy.existingConfigMap | default (include "bailiff.name" .) }}
{{- end }}

{{- /* What the service would refuse at its start, or could never do, is refused before anything is installed. */ -}}
{{- define "bailiff.check" -}}
{{- $v := .Values }}
{{- if include "bailiff.hosted" . }}
{{- if or $v.policy.text $v.policy.existingConfigMap }}{{ fail "policy is set, and SVC_HOSTED is true: a hosted service has no default policy; remove one of them" }}{{ end }}
{{- else }}
{{- if not (or $v.policy.text $v.policy.existingConfigMap) }}{{ fail "there is no policy: sign it with bailiff sign, and give --set-file policy.text=warranty.md or policy.existingConfigMap, or set settings.SVC_HOSTED" }}{{ end }}
{{- if not $v.settings.SVC_OPERATOR_PUBLIC_KEY }}{{ fail "settings.SVC_OPERATOR_PUBLIC_KEY is not set: the operator's public key is required unless SVC_HOSTED is true" }}{{ end }}
{{- end }}
{{- if and $v.policy.text $v.policy.existingConfigMap }}{{ fail "policy.text and policy.existingConfigMap are both set; remove one of them" }}{{ end }}
{{- if ne (empty $v.mirror.url) (empty $v.mirror.existingSecret) }}{{ fail "mirror.url and mirror.existingSecret belong together; set both or none" }}{{ end }}
{{- if and $v.mirror.url (ne (toString $v.settings.SVC_ENV) "test") }}{{ fail "mirror is set, and settings.SVC_ENV is not test; a mirror works in the environment test only" }}{{ end }}
{{- if and $v.internal.existingSecret (eq (toString $v.settings.SVC_ENV) "test") }}{{ fail "internal is set, and settings.SVC_ENV is test; it works in the environment production only" }}{{ end }}
{{- if and (or $v.metrics.podMonitor $v.metrics.rules) (not $v.metrics.enabled) }}{{ fail "metrics.podMonitor and metrics.rules need metrics.enabled" }}{{ end }}
{{- range $name, $_ := $v.secretSettings }}{{ if hasKey $v.settings $name }}{{ fail (printf "%s is in settings and in secretSettings; remove one of them" $name) }}{{ end }}{{ end }}
{{- if and $v.networkPolicy.enabled (not $v.networkPolicy.egress) }}
{{- $out := list }}
{{- if $v.mirror.url }}{{ $out = append $out "mirror.url" }}{{ end }}
{{- range $name, $_ := merge dict $v.settings $v.secretSettings }}{{ if or (eq $name "SVC_OTLP_LOGS" "SVC_SMTP_URL") (hasPrefix "SVC_RPC_URL_" $name) (hasPrefix "SVC_BUNDLER_URL_" $name) }}{{ $out = append $out $name }}{{ end }}{{ end }}
{{- if $out }}{{ fail (printf "%s: the service has to connect to it, and networkPolicy.egress lets it reach nothing but DNS; say there what it may reach" (join ", " $out)) }}{{ end }}
{{- end }}
{{- end }}

{{- /* The settings that the chart makes, by what is mounted and listened on. */ -}}
{{- define "bailiff.ownSettings" -}}
SVC_DATA_DIR: /data/bailiff
SVC_LISTEN: 0.0.0.0:8787
SVC_ADMIN_LISTEN: {{ ternary "0.0.0.0:8788" "off" .Values.metrics.enabled | quote }}
{{- if not (include "bailiff.hosted" .) }}
WARRANTY_PATH: /config/warranty.md
{{- end }}
{{- if .Values.settings.SVC_EVENT_RETENTION }}
SVC_EVENT_EXPORT: /data/exported
{{- end }}
{{- if .Values.tls.existingSecret }}
SVC_TLS_CERT: /secrets/tls/tls.crt
SVC_TLS_KEY: /secrets/tls/tls.key
{{- end }}
{{- if .Values.signingKeys.existingSecret }}
SVC_SIGNING_KEY_FILE: /secrets/signing/attestation-keys.pem
{{- end }}
{{- if .Values.trustedShims.existingConfigMap }}
SVC_TRUSTED_SHIMS: /shims/shims.json
{{- end }}
{{- if .Values.internal.existingSecret }}
SVC_INTERNAL_LISTEN: 0.0.0.0:8790
SVC_INTERNAL_CERT: /secrets/internal/tls.crt
SVC_INTERNAL_KEY: /secrets/internal/tls.key
SVC_INTERNAL_CA: /secrets/internal/ca.crt
{{- end }}
{{- if .Values.mirror.url }}
SVC_MIRROR_URL: {{ .Values.mirror.url | quote }}
SVC_MIRROR_CERT: /secrets/mirror/tls.crt
SVC_MIRROR_KEY: /secrets/mirror/tls.key
SVC_MIRROR_CA: /secrets/mirror/ca.crt
{{- end }}
{{- end }}

{{- /* The Secrets that are mounted, by the folder below /secrets. */ -}}
{{- define "bailiff.secrets" -}}
tls: {{ .Values.tls.existingSecret | quote }}
signing: {{ .Values.signingKeys.existingSecret | quote }}
internal: {{ .Values.internal.existingSecret | quote }}
mirror: {{ .Values.mirror.existingSecret | quote }}
{{- end }}
