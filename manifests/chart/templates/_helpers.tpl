{{/* The reference of an image, from its repository, tag and digest. */}}
{{- define "torpor.image" -}}
{{- $digest := "" -}}
{{- with .digest }}{{ $digest = printf "@%s" . }}{{ end -}}
{{- printf "%s:%s%s" .repository .tag $digest | quote -}}
{{- end -}}

{{/* The labels of every object, besides those of the manifest. */}}
{{- define "torpor.labels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{/* Ends the names of objects of the cluster that belong to one installation. */}}
{{- define "torpor.suffix" -}}
{{- if ne .Release.Namespace "torpor-system" }}-{{ .Release.Namespace }}{{ end -}}
{{- end -}}

{{/* The namespaces that the chart sets up for workflows, as JSON. */}}
{{- define "torpor.namespaces" -}}
{{- concat .Values.watchNamespaces .Values.namespaces | uniq | toJson -}}
{{- end -}}
