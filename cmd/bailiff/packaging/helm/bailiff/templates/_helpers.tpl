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
{{- if and $v.networkPolicy.enabled $v.store.existingSecret (not $v.networkPolicy.database) }}{{ fail "store is set, and networkPolicy.database is empty: say there where PostgreSQL is, or the service can't reach it" }}{{ end }}
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
{{- if include "bailiff.peers" . }}
SVC_PEER_LISTEN: 0.0.0.0:8790
SVC_PEER_ADDRESS: $(SVC_INSTANCE).{{ include "bailiff.peers" . }}:8790
SVC_PEER_CERT: /secrets/peers/tls.crt
SVC_PEER_KEY: /secrets/peers/tls.key
SVC_PEER_CA: /secrets/peers/ca.crt
{{- end }}
{{- end }}

{{- /* The settings that Kubernetes knows, by the field that has them. */ -}}
{{- define "bailiff.fieldSettings" -}}
{{- if .Values.store.existingSecret }}
SVC_INSTANCE: metadata.name
{{- end }}
{{- end }}

{{- /* The settings that the chart takes out of Secrets. */ -}}
{{- define "bailiff.ownSecretSettings" -}}
{{- if .Values.store.existingSecret }}
SVC_STORE: {name: {{ .Values.store.existingSecret | quote }}, key: {{ .Values.store.key | quote }}}
{{- end }}
{{- end }}

{{- /* The headless Service by which instances find each other; empty where they pass nothing on. */ -}}
{{- define "bailiff.peers" -}}
{{- if or .Values.peers.existingSecret .Values.peers.csi }}{{ include "bailiff.name" . }}-peers{{ end }}
{{- end }}

{{- /* The Secrets that are mounted whole, by the folder below /secrets. */ -}}
{{- define "bailiff.secrets" -}}
tls: {{ .Values.tls.existingSecret | quote }}
signing: {{ .Values.signingKeys.existingSecret | quote }}
internal: {{ .Values.internal.existingSecret | quote }}
mirror: {{ .Values.mirror.existingSecret | quote }}
{{- end }}

{{- /* The volumes of the pod besides its own. Files of Secrets are root's, and the service's group may read them. */ -}}
{{- define "bailiff.volumes" -}}
{{- if not (include "bailiff.hosted" .) }}
- name: policy
  configMap: {name: {{ include "bailiff.policyConfigMap" . }}}
{{- end }}
{{- if .Values.trustedShims.existingConfigMap }}
- name: shims
  configMap: {name: {{ .Values.trustedShims.existingConfigMap | quote }}}
{{- end }}
{{- range $folder, $secret := include "bailiff.secrets" . | fromYaml }}
{{- if $secret }}
- name: {{ $folder }}
  secret: {secretName: {{ $secret | quote }}, defaultMode: 0440}
{{- end }}
{{- end }}
{{- with .Values.store.caSecret }}
- name: store
  secret: {secretName: {{ . | quote }}, defaultMode: 0440, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}
{{- with .Values.peers.existingSecret }}
- name: peers
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- with .Values.peers.csi }}
- name: peers
  csi: {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}
