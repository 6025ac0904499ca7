{{- define "belay.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "belay.labels" -}}
app.kubernetes.io/name: belay
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "belay.selector" -}}
app.kubernetes.io/name: belay
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "belay.configMap" -}}
{{ .Values.existingConfigMap | default (printf "%s-configuration" .Release.Name) }}
{{- end -}}

{{/* The Deployment of the servers or of the workers: the same image, with what only servers have. */}}
{{- define "belay.deployment" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $server := eq .component "server" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $root.Release.Name }}-{{ .component }}
  labels:
    {{- include "belay.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- if not (dig "autoscaling" "enabled" false $values) }}
  replicas: {{ $values.replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "belay.selector" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  template:
    metadata:
      labels:
        {{- include "belay.selector" . | nindent 8 }}
    spec:
      serviceAccountName: {{ $root.Release.Name }}
      automountServiceAccountToken: false
      # The drain, ten seconds for work that is in progress, and some to spare.
      terminationGracePeriodSeconds: {{ add $root.Values.drainSeconds 20 }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile: { type: RuntimeDefault }
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "belay.selector" . | nindent 14 }}
      containers:
        - name: belay
          image: {{ include "belay.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          env:
            - { name: BELAY_WORKER, value: {{ ternary "off" "only" $server | quote }} }
            - { name: BELAY_BASE_URL, value: {{ $root.Values.baseUrl | quote }} }
            - { name: BELAY_CONFIG, value: /etc/belay }
            - { name: LOG_LEVEL, value: {{ $root.Values.logLevel | quote }} }
            - { name: DATABASE_URL_FILE, value: /run/secrets/belay/database-url }
            - { name: BELAY_SECRET_FILE, value: /run/secrets/belay/belay-secret }
            {{- if $root.Values.redis }}
            - { name: REDIS_URL_FILE, value: /run/secrets/belay/redis-url }
            {{- end }}
            {{- if $server }}
            - { name: HOST, value: '0.0.0.0' }
            - { name: PORT, value: '8080' }
            - { name: BELAY_TRUST_PROXY, value: {{ $root.Values.trustProxy | quote }} }
            - { name: BELAY_DRAIN_SECONDS, value: {{ $root.Values.drainSeconds | quote }} }
            {{- end }}
          {{- with $root.Values.environmentSecrets }}
          envFrom:
            {{- range . }}
            - secretRef: { name: {{ . | quote }} }
            {{- end }}
          {{- end }}
          {{- if $server }}
          ports:
            - { name: http, containerPort: 8080 }
          startupProbe:
            httpGet: { path: /ready, port: http }
            periodSeconds: 2
            failureThreshold: 150
          readinessProbe:
            httpGet: { path: /ready, port: http }
            periodSeconds: 2
            timeoutSeconds: 4
            failureThreshold: 1
          # No /ready here: a database that is away is no reason to restart a server.
          livenessProbe:
            tcpSocket: { port: http }
            periodSeconds: 10
            failureThreshold: 6
          {{- end }}
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          volumeMounts:
            - { name: configuration, mountPath: /etc/belay, readOnly: true }
            - { name: secrets, mountPath: /run/secrets/belay, readOnly: true }
            - { name: temporary, mountPath: /tmp }
      volumes:
        - name: configuration
          configMap: { name: {{ include "belay.configMap" $root }} }
        - name: secrets
          secret: { secretName: {{ $root.Values.existingSecret }}, defaultMode: 0440 }
        - name: temporary
          emptyDir: { sizeLimit: 16Mi }
{{- end -}}
