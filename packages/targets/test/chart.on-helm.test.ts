import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { programs, startTarget } from '../src/index.js';

const chart = fileURLToPath(new URL('../../../deploy/helm/belay', import.meta.url));

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: Record<string, unknown>;
}

/** Returns the manifests that the chart makes with these values. Throws helm's error when it rejects them. */
function render(...values: string[]): Manifest[] {
  const args = ['template', 'belay', chart, '--kube-version', '1.36.0', ...values.flatMap((each) => ['--set', each])];
  const { error, status, stdout, stderr } = spawnSync(programs.helm, args, { encoding: 'utf8' });
  if (error !== undefined || status !== 0) throw error ?? new Error(stderr);
  return parseAllDocuments(stdout).flatMap((each) => (each.toJS() as Manifest | null) ?? []);
}

const everything = [
  'ingress.enabled=true',
  'externalSecret.enabled=true',
  'externalSecret.store=vault',
  'externalSecret.keys.database-url=belay/database',
  'worker.autoscaling.enabled=true',
  'configuration.belay\\.yaml=roles: {}',
  'networkPolicy.monitoringNamespace.kubernetes\\.io/metadata\\.name=monitoring',
];

/** Further sets of values that people use. */
const variants = [
  [`image.digest=sha256:${'a'.repeat(64)}`, 'imagePullSecrets[0].name=registry'],
  ['existingConfigMap=mine', 'environmentSecrets={login,reporting}', 'redis=false'],
  ['server.resources=null', 'drainSeconds=0', 'networkPolicy.enabled=false'],
  ['ingress.enabled=true', 'ingress.tlsSecret=', 'ingress.annotations.a\\.example/b=c', 'trustProxy=10.0.0.0/8'],
  ['worker.replicas=3', 'worker.autoscaling.enabled=true', 'worker.autoscaling.maxReplicas=3'],
];

const plurals: Record<string, string> = { NetworkPolicy: 'networkpolicies', Ingress: 'ingresses' };

/** Returns the path at which the API server accepts a manifest. */
function pathOf({ apiVersion, kind }: Manifest): string {
  const group = apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
  return `/${group}/namespaces/default/${plurals[kind] ?? `${kind.toLowerCase()}s`}?dryRun=All&fieldValidation=Strict`;
}

it('makes what an API server takes, with no field that it does not know', async () => {
  await using cluster = await startTarget('kubernetes');
  const answers = await Promise.all(
    [[], everything, ...variants]
      .flatMap((values) => render(...values))
      .map(async (manifest) => {
        const { status, body } = await cluster.call('admin', 'POST', pathOf(manifest), manifest);
        const { message } = (typeof body === 'object' ? body : {}) as { message?: string };
        return { kind: manifest.kind, name: manifest.metadata.name, status, message };
      }),
  );
  const refused = answers.filter(({ status }) => status !== 201);
  // A kind of the External Secrets Operator, which this cluster does not have.
  expect(refused).toEqual([expect.objectContaining({ kind: 'ExternalSecret', status: 404 })]);
  expect(new Set(answers.map(({ kind }) => kind))).toEqual(
    new Set([
      'ConfigMap',
      'Deployment',
      'ExternalSecret',
      'HorizontalPodAutoscaler',
      'Ingress',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
    ]),
  );
});

it('lets the number of workers follow the work that is due, and never fall below the replicas', () => {
  const made = render(...everything).find(({ kind }) => kind === 'HorizontalPodAutoscaler');
  expect(made?.spec).toMatchObject({
    minReplicas: 2,
    metrics: [{ external: { metric: { name: 'belay_due_work' }, target: { averageValue: '50' } } }],
  });
});

it.each([
  'worker.replicas=0',
  'image.tag=latest',
  'baseUrl=http://belay.example.com',
  'misspelt=1',
  // Without a selector, every namespace may connect, and a server trusts the client addresses that its proxy sends.
  'networkPolicy.ingressNamespace=null',
])('is not made with %s', (value) => {
  expect(() => render(value)).toThrow(/values don't meet the specifications|schema/);
});

it('is not made with fewer workers at most than at least, which an API server rejects', () => {
  expect(() => render('worker.autoscaling.enabled=true', 'worker.autoscaling.maxReplicas=1')).toThrow(
    'worker.autoscaling.maxReplicas must not be less than worker.replicas (2)',
  );
});
