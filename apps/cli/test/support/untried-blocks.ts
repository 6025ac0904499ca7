/**
 * Shell blocks of the documentation that no test runs as they are printed, by file and first command, with the reason. Their `belay`
 * commands are still checked against the command line.
 */
export const untried: Record<string, Record<string, string>> = {
  'AGENTS.md': { 'npm install': 'a list of commands of minutes each; CI runs them' },
  'README.md': {
    'npm install && npm start': 'installs; CI starts the demo in a new clone',
    'npm install && npm test': 'is the whole of the tests',
    'export DATABASE_URL=postgres://belay:password@db.internal:5432/belay':
      'names servers of the reader; start.test.ts starts Belay on others',
  },
  'docs/benchmarks.md': { 'npm run bench -- quick': 'takes minutes' },
  'docs/cli.md': {
    'belay request': 'asks at a terminal; wizard.test.ts and many.test.ts answer it',
    'belay completion bash > ~/.local/share/bash-completion/completions/belay':
      'is for three shells; completion.test.ts runs them',
    'belay agent enroll --name laptop --ttl PT1H': 'installs a service; agent-story.test.ts runs the rest',
  },
  'docs/connectors/entra.md': {
    'az role assignment create --assignee "$ENTRA_CLIENT_ID" --role "Role Based Access Control Administrator" \\':
      'changes a subscription of Azure',
  },
  'docs/connectors/gcp.md': {
    'gcloud iam service-accounts create belay --project=shop': 'changes a project of Google Cloud',
    'gcloud projects add-iam-policy-binding shop --role=projects/shop/roles/belay \\':
      'changes a project of Google Cloud',
  },
  'docs/guarantees.md': { 'npm run chaos': 'takes minutes; CI runs the short form' },
  'docs/guides/agents.md': {
    'belay agent join --url https://belay.example.com': 'waits for a credential; agent-story.test.ts gives one',
    "curl -H 'accept: application/json' 'http://127.0.0.1:8791/auth?provider=corp'":
      'needs an agent and a session of corp; agent-story.test.ts has both',
  },
  'docs/guides/alerts.md': {
    'promtool check rules deploy/monitoring/alerts.yaml': 'needs Prometheus; monitoring.test.ts reads the files',
  },
  'docs/guides/backup.md': {
    "belay restore revoke <id> --reason 'granted between 09:00 and the failure'":
      'needs a database that was restored; restore.test.ts has one',
    "belay restore skip old-cluster --reason 'switched off in May'":
      'needs a provider that does not answer; operator.test.ts',
  },
  'docs/guides/connector-authors.md': { 'npx vitest run packages/providers': 'is the tests' },
  'docs/guides/deploy.md': {
    'docker build --build-arg REVISION="$(git rev-parse HEAD)" --tag belay:0.1.0 .':
      'needs a container runtime; stages.test.ts runs the commands of the stages',
    'docker build --build-arg NODE_IMAGE=node@sha256:… --build-arg BASE_IMAGE=debian@sha256:… --tag belay:0.1.0 .':
      'needs a container runtime',
    'for each in worker-1 worker-2 server-1 server-2; do docker compose up --detach --no-deps --wait $each || break; done':
      'needs a container runtime; rolling.test.ts does the same to processes',
    'systemctl enable --now belay-server@8081 belay-server@8082 belay-worker@1 belay-worker@2': 'needs systemd',
    "helm install belay deploy/helm/belay --set baseUrl=https://belay.example.com --set-file 'configuration.belay\\.yaml=config/belay.yaml'":
      'needs a cluster',
  },
  'docs/guides/operators.md': {
    'belay providers same shop --reason "failed over to the standby of 14:05"':
      'needs a server that failed over; packages/core/test/targets.same.test.ts confirms one',
    'npm install --no-save @opentelemetry/api@1.9.0 @opentelemetry/sdk-trace-node@2 @opentelemetry/exporter-trace-otlp-http@0.223':
      'installs from the registry; tracing.test.ts has the rest',
  },
  'docs/guides/policy-tests.md': {
    'npx @belay/cli validate config/ && npx @belay/cli test config/':
      'installs from the registry; the commands are run in other blocks',
  },
  'docs/guides/releases.md': {
    'npm run release -- prepare': 'changes the versions of this tree',
    'npm run release -- pack': 'builds everything; published.test.ts packs the same',
  },
  'docs/guides/testing-connectors.md': { 'npm run targets': 'installs and starts systems; CI does' },
  'docs/guides/workflow-authors.md': {
    'curl "$BELAY_URL/api/v1/events/ci" -H "Authorization: Bearer $CI_EVENT_TOKEN" -H \'Content-Type: application/cloudevents+json\' \\':
      'needs a configuration with a source of events; the tests of the server send such events',
  },
  'packages/sdk/README.md': {
    'npm install @belay/sdk': 'installs from the registry; packed.test.ts installs the tarball',
  },
};
