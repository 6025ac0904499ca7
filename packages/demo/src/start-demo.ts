import { generateKeyPairSync } from 'node:crypto';
import { findFreePort } from '@belay/host';
import { StartError } from '@belay/program';
import type { Demo, DemoComposer, DemoOptions } from '@belay/server';
import { startDemoControl } from './control.js';
import { startDemoIdentityProvider } from './identity-provider/start.js';
import { isFromHere, requireLoopback } from './only-here.js';
import { demoPeople } from './people.js';
import { prepareDemoTarget } from './prepare-target.js';
import { type DemoSettings, keepFirstDemoSettings, readDemoSettings, writeDemoSettings } from './settings.js';
import { startSwitchableWorker } from './switchable-worker.js';

/** Opens the demo, for a server without a configuration. */
export const openDemo: DemoComposer = {
  check: requireLoopback,
  start: startDemo,
  admits: isFromHere,
  startWorker: startSwitchableWorker,
};

const clientId = 'belay-demo';
const takeOverPause = 2_000;
/** How many ports, from this server's port on, other servers on this machine can use. */
const portsBeside = 10;

/**
 * Prepares the demo (docs/architecture.md, section 11): its target, and in a process that serves HTTP also its identity
 * provider and its control. All processes with the same data folder share one demo. Throws `StartError` when the
 * settings are damaged, when the target cannot be prepared, or when other programs use the ports.
 */
async function startDemo(options: DemoOptions): Promise<Demo> {
  const { dataDirectory, databaseUrl, baseUrl, randomBytes } = options;
  const token = Buffer.from(randomBytes(6)).toString('hex');
  const kept =
    (await readDemoSettings(dataDirectory)) ??
    (await keepFirstDemoSettings(dataDirectory, await makeDemoSettings(randomBytes), token));
  const target = await prepareDemoTarget({
    url: databaseUrl,
    connectorPassword: kept.secrets.connector_password,
    passwords: kept.secrets.passwords,
  });
  const settings: DemoSettings = {
    ...kept,
    base_url: baseUrl ?? kept.base_url,
    people: demoPeople.map(({ name, email, groups, subject }) => ({
      name,
      email,
      groups,
      database_url: target.personUrls[subject] ?? '',
    })),
  };
  const listeners = baseUrl === undefined ? undefined : await holdListeners({ ...options, baseUrl }, settings);
  return {
    variables: {
      DEMO_OIDC_ISSUER: settings.issuer,
      DEMO_OIDC_CLIENT_ID: clientId,
      DEMO_OIDC_CLIENT_SECRET: settings.secrets.client_secret,
      DEMO_POSTGRES_URL: target.connectorUrl,
    },
    people: demoPeople.map(({ name, email, groups }) => ({ name, email, groups })),
    publish: () => writeDemoSettings(dataDirectory, settings, token),
    close: async () => listeners?.close(),
  };
}

type ListenOptions = DemoOptions & { baseUrl: string };

/** Runs the listeners in this process. If another process runs them, waits and takes over when that process ends. */
async function holdListeners(options: ListenOptions, settings: DemoSettings): Promise<{ close(): Promise<void> }> {
  const ended = new AbortController();
  let held = await tryListen(options, settings);
  if (held === undefined && !(await answers(settings.issuer))) {
    throw new StartError(
      `The demo cannot listen on its ports: another program uses ${settings.issuer} or ${settings.control.url}; stop that program, or delete ${options.dataDirectory}/demo.json to choose other ports`,
    );
  }
  const waiting = (async () => {
    while (held === undefined) {
      await options.delay(takeOverPause, ended.signal);
      held = await tryListen(options, settings);
    }
  })().catch((error: unknown) => {
    if (!ended.signal.aborted) options.log.error({ error }, 'the demo could not configure its identity provider');
  });
  return {
    async close() {
      ended.abort();
      await waiting;
      await held?.close();
    },
  };
}

/** Starts the identity provider and the control; returns undefined when their ports are in use. */
async function tryListen(
  options: ListenOptions,
  settings: DemoSettings,
): Promise<{ close(): Promise<void> } | undefined> {
  const { log, delay, databaseUrl } = options;
  try {
    const identityProvider = await startDemoIdentityProvider({
      port: Number(new URL(settings.issuer).port),
      host: '127.0.0.1',
      people: demoPeople.map(({ subject, name, email, groups }) => ({ subject, name, email, groups })),
      clients: [
        {
          client_id: clientId,
          client_secret: settings.secrets.client_secret,
          redirect_uris: redirectUris(options.baseUrl),
        },
      ],
      cookieKeys: [settings.secrets.cookie_key],
      jwks: settings.secrets.jwks,
      log: (line) => log.info({}, line),
    });
    const { secret, url } = settings.control;
    const control = await startDemoControl({ port: Number(new URL(url).port), secret, databaseUrl, log, delay }).catch(
      async (error: unknown) => {
        await identityProvider.close();
        throw error;
      },
    );
    return { close: async () => void (await Promise.all([control.close(), identityProvider.close()])) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

/** Returns the callbacks of this server and of other servers on the same machine. */
function redirectUris(baseUrl: string): string[] {
  const { port } = new URL(baseUrl);
  const first = Number(port || 80);
  const beside = Array.from({ length: portsBeside }, (_, index) => first + index).flatMap((each) => [
    `http://127.0.0.1:${each}`,
    `http://localhost:${each}`,
  ]);
  return [...new Set([baseUrl, ...beside])].map((base) => `${base}/api/v1/auth/callback/demo`);
}

/** Returns whether the program on the port is a demo identity provider. */
async function answers(issuer: string): Promise<boolean> {
  try {
    const answer = await fetch(`${issuer}/.well-known/openid-configuration`, { signal: AbortSignal.timeout(2_000) });
    return ((await answer.json()) as { issuer?: string }).issuer === issuer;
  } catch {
    return false;
  }
}

/** Creates the settings of a first start: free ports for the identity provider and the control, and new secrets. */
async function makeDemoSettings(randomBytes: (size: number) => Uint8Array): Promise<DemoSettings> {
  const secret = () => Buffer.from(randomBytes(24)).toString('base64url');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = { ...privateKey.export({ format: 'jwk' }), kid: secret(), use: 'sig', alg: 'ES256' };
  return {
    base_url: '',
    issuer: `http://127.0.0.1:${await findFreePort('127.0.0.1')}`,
    people: [],
    control: { url: `http://127.0.0.1:${await findFreePort('127.0.0.1')}`, secret: secret() },
    secrets: {
      client_secret: secret(),
      cookie_key: secret(),
      connector_password: secret(),
      passwords: Object.fromEntries(demoPeople.map((person) => [person.subject, secret()])),
      jwks: { keys: [JSON.parse(JSON.stringify(key))] },
    },
  };
}
