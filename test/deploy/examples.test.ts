import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from './dockerfile.js';

const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const known = new Set(
  [...read('packages/operations/src/environment.ts').matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map(([, name = '']) => name),
);

/** Returns the variables that no program reads. `NAME_FILE` counts as `NAME`, because a secret can be in a file. */
function unknown(names: readonly string[]): string[] {
  return names.filter((name) => !known.has(name.replace(/_FILE$/, '')));
}

interface Service {
  image: string;
  user?: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  ports?: string[];
  networks: string[];
  secrets?: string[];
  environment?: Record<string, string>;
  env_file?: { path: string; required: boolean }[];
  depends_on?: Record<string, { condition: string }>;
}

describe('compose.yaml', () => {
  const compose = parse(read('compose.yaml'), { merge: true }) as {
    services: Record<string, Service>;
    secrets: Record<string, { file: string }>;
  };
  const ours = Object.entries(compose.services).filter(([name]) => /^(server|worker)-/.test(name));

  it('runs two servers and two workers, without a right that they do not need', () => {
    expect(ours.map(([name]) => name)).toEqual(['server-1', 'server-2', 'worker-1', 'worker-2']);
    for (const [name, { environment = {}, ...service }] of ours) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
      expect(unknown(Object.keys(environment))).toEqual([]);
      expect(environment.BELAY_WORKER).toBe(name.startsWith('server') ? 'off' : 'only');
      expect(service.ports).toBeUndefined();
    }
  });

  it('publishes the proxy only, and lets one server migrate before the others start', () => {
    const published = Object.entries(compose.services).filter(([, { ports }]) => ports !== undefined);
    expect(published.map(([name]) => name)).toEqual(['proxy']);
    expect(compose.services.postgres?.networks).toEqual(['back']);
    const [, ...later] = ours;
    for (const [, { depends_on }] of later)
      expect(depends_on).toEqual({ 'server-1': { condition: 'service_healthy' } });
  });

  it('pins each image and has each secret in a file', () => {
    for (const { image } of Object.values(compose.services)) expect(image).toMatch(/:\$?\{?[\w.:-]*\d+\.\d+/);
    const used = new Set(Object.values(compose.services).flatMap(({ secrets = [] }) => secrets));
    expect([...used].sort()).toEqual(Object.keys(compose.secrets).sort());
    expect(read('compose.yaml')).not.toMatch(/:\/\/[^\s/]+:[^\s/]+@/);
  });

  it('gives each process the variables that the configuration names', () => {
    for (const [, { env_file }] of ours) expect(env_file).toEqual([{ path: './config/.env', required: false }]);
  });

  it('keeps its secrets and variables out of version control', () => {
    const paths = ['.env', 'config/.env', 'deploy/compose/secrets/belay_secret'];
    const { stdout } = spawnSync('git', ['check-ignore', '--no-index', ...paths], { cwd: root, encoding: 'utf8' });
    expect(stdout.trim().split('\n')).toEqual(paths);
  });
});

describe('the secrets of Compose', () => {
  const script = fileURLToPath(new URL('deploy/compose/make-secrets.sh', root));
  const folder = mkdtempSync(join(tmpdir(), 'belay-secrets-'));
  const copy = join(folder, 'make-secrets.sh');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  copyFileSync(script, copy);
  chmodSync(folder, 0o777);

  it('are not made on Linux by an account that cannot give them to the account of the image', () => {
    const account = process.getuid?.() === 0 ? { uid: 61_234, gid: 61_234 } : {};
    const { status, stderr } = spawnSync('sh', [copy], { encoding: 'utf8', ...account });
    if (process.platform !== 'linux') return expect(status).toBe(0);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^make-secrets\.sh: run it as root/)]);
    expect(readdirSync(folder)).toEqual(['make-secrets.sh']);
  });

  it('are made once, and the account of the image reads its own two', () => {
    if (process.getuid?.() !== 0)
      return console.warn('not tested, since it needs root: whose the secrets of Compose are');
    const made = () =>
      readdirSync(join(folder, 'secrets')).map((name) => {
        const { uid, mode } = statSync(join(folder, 'secrets', name));
        return [name, uid, (mode & 0o777).toString(8), readFileSync(join(folder, 'secrets', name), 'utf8')];
      });
    expect(spawnSync('sh', [copy]).status).toBe(0);
    const first = made();
    expect(spawnSync('sh', [copy]).status).toBe(0);
    expect(made()).toEqual(first);
    expect(first.map(([name, uid, mode]) => [name, uid, mode])).toEqual([
      ['belay_secret', 10_001, '400'],
      ['database_url', 10_001, '400'],
      ['postgres_password', 0, '400'],
    ]);
  });
});

describe.each(['server', 'worker'])('the systemd unit of a %s', (kind) => {
  const unit = read(`deploy/systemd/belay-${kind}@.service`);
  const set = [...unit.matchAll(/^Environment=(.+)$/gm)].flatMap(([, line = '']) => line.split(' '));

  it('sets variables that Belay reads, and takes every right that it does not need', () => {
    expect(unknown(set.map((each) => each.split('=')[0] ?? '').filter((name) => name !== 'NODE_ENV'))).toEqual([]);
    expect(set).toContain(`BELAY_WORKER=${kind === 'server' ? 'off' : 'only'}`);
    for (const each of [
      'NoNewPrivileges=true',
      'ProtectSystem=strict',
      'ProtectHome=true',
      'PrivateTmp=true',
      'User=belay',
    ])
      expect(unit.split('\n')).toContain(each);
    expect(unit).toMatch(/^CapabilityBoundingSet=$/m);
  });

  it('is understood by systemd, where systemd is here', () => {
    const path = fileURLToPath(new URL(`deploy/systemd/belay-${kind}@.service`, root));
    const { error, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' });
    if (error !== undefined) return console.warn('not tested, since not installed: systemd-analyze');
    const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('belay-'));
    // The program of the unit is not installed here.
    expect(said.filter((line) => !/is not executable|Command .* not found/.test(line))).toEqual([]);
  });
});

describe('the Helm chart', () => {
  const templates = readdirSync(new URL('deploy/helm/belay/templates', root)).map((name) =>
    read(`deploy/helm/belay/templates/${name}`),
  );

  it('sets variables that Belay reads, and takes every right that it does not need', () => {
    const names = templates.flatMap((text) =>
      [...text.matchAll(/\{ name: ([A-Z_]+), value/g)].map(([, name = '']) => name),
    );
    expect(names.length).toBeGreaterThan(8);
    expect(unknown(names)).toEqual([]);
    const all = templates.join('\n');
    for (const each of [
      'runAsNonRoot: true',
      'readOnlyRootFilesystem: true',
      'allowPrivilegeEscalation: false',
      'drop: [ALL]',
      'automountServiceAccountToken: false',
    ])
      expect(all).toContain(each);
  });

  it('has defaults that its schema takes, and rejects zero workers, the tag latest and an address without TLS', () => {
    const takes = new Ajv({ strict: false }).compile(
      JSON.parse(read('deploy/helm/belay/values.schema.json')) as object,
    );
    const values = parse(read('deploy/helm/belay/values.yaml')) as Record<string, Record<string, unknown>>;
    expect([takes(values), takes.errors]).toEqual([true, null]);
    expect(takes({ ...values, worker: { ...values.worker, replicas: 0 } })).toBe(false);
    expect(takes({ ...values, image: { ...values.image, tag: 'latest' } })).toBe(false);
    expect(takes({ ...values, baseUrl: 'http://belay.example.com' })).toBe(false);
    expect(takes({ ...values, misspelt: true })).toBe(false);
  });
});

describe('the guides of operators', () => {
  it('name files that exist', () => {
    for (const guide of ['docs/guides/deploy.md', 'docs/guides/scale.md']) {
      const named = [...read(guide).matchAll(/\bdeploy\/[\w./@-]*\w/g)].map(([path]) => path);
      expect(named.length).toBeGreaterThan(0);
      expect(named.filter((path) => path !== 'deploy/compose/secrets' && !existsSync(new URL(path, root)))).toEqual([]);
    }
    expect(readdirSync(new URL('deploy', root))).toContain('compose');
  });
});

describe('the examples of proxies', () => {
  it('take from a directory as large a body as Belay does, and from others no larger one', () => {
    expect(read('packages/scim/src/answer.ts')).toContain('const bodyBytes = 1024 * 1024;');
    const nginx = read('deploy/nginx/belay.conf');
    expect(nginx).toMatch(/\n {4}client_max_body_size 256k;/);
    expect(nginx).toMatch(/location \/scim\/v2\/ \{\s+client_max_body_size 1m;/);
    const caddy = read('deploy/caddy/Caddyfile');
    expect(caddy).toMatch(/@directory path \/scim\/v2\/\*/);
    expect(caddy).toMatch(/request_body @directory \{\s+max_size 1MiB/);
    expect(caddy).toMatch(/request_body @others \{\s+max_size 256KiB/);
  });
});
