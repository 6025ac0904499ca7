import type { Act, Exchange, Reply } from '../front/front.js';
import { completeGithub, innerTokens } from './github-answers.js';
import { createWorld, type GithubWorld } from './github-world.js';
import { rsaKeyOf } from './rsa-key.js';
import { type EmulatorTarget, startEmulator } from './start.js';

export interface GithubTarget extends EmulatorTarget {
  organization: 'acme';
  app: { id: number; installation: number; privateKey: string };
  /** The changes that a test can make at GitHub without the API. */
  world: GithubWorld;
  /** Returns a user with the login that they had at the start. */
  find(id: number): Promise<{ login: string } | undefined>;
  /** Calls the API as a person, by their login, or as `admin`, who owns the organization. */
  call(login: string, method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
}

export interface GithubOptions {
  /** How many members `person-1`, `person-2`, … the organization has, 60 unless set. */
  people?: number;
  /** What the App may do. */
  permissions?: Record<string, string>;
  now(): number;
}

// The form in which GitHub issues keys.
const readKey = rsaKeyOf('pkcs1');

const whole = { members: 'write', administration: 'write', metadata: 'read', organization_custom_org_roles: 'read' };

/** The organization and its people. They never change in the emulator: their changes are in `GithubWorld`. */
const lasting = /^\/orgs\/acme$|^\/users[/?]/;

/** Returns an act whose own reads of these paths are cached. Requests that it forwards unchanged are not. */
function askOnce(paths: RegExp, act: Act): Act {
  const known = new Map<string, Reply>();
  return {
    name: act.name,
    run: (exchange) => {
      const forward: Exchange['forward'] = async (request) => {
        if (request?.method !== 'GET' || !paths.test(request.path)) return exchange.forward(request);
        const reply = known.get(request.path) ?? (await exchange.forward(request));
        if (reply.status === 200) known.set(request.path, reply);
        return reply;
      };
      return act.run({ ...exchange, forward });
    },
  };
}

/**
 * Starts the emulator of GitHub with the organization `acme`: members `person-1` and so on, the owner `admin`, and `outsider-1` and
 * `outsider-2`, who do not belong to it. A GitHub App is installed there. What the emulator lacks is in `github-answers.ts`.
 */
export async function startGithub({ people = 60, permissions = whole, now }: GithubOptions): Promise<GithubTarget> {
  const persons = Array.from({ length: people }, (_, index) => `person-${index + 1}`);
  const logins = [...persons, 'outsider-1', 'outsider-2'];
  const app = { id: 4_711, installation: 815, privateKey: readKey().privateKey };
  const { state, world } = createWorld();
  const target = await startEmulator({
    service: 'github',
    now,
    complete: askOnce(lasting, completeGithub(state, now)),
    seed: {
      tokens: Object.fromEntries([
        ...['admin', ...logins].map((login) => [`token-of-${login}`, { login, scopes: ['repo'] }]),
        ...innerTokens.map((token) => [token, { login: 'admin', scopes: ['repo'] }]),
      ]),
      github: {
        users: logins.map((login) => ({ login, name: login, email: `${login}@example.test` })),
        orgs: [
          {
            login: 'acme',
            members: [{ login: 'admin', role: 'admin' }, ...persons.map((login) => ({ login }))],
          },
        ],
        apps: [
          {
            app_id: app.id,
            slug: 'belay',
            name: 'Belay',
            private_key: app.privateKey,
            permissions,
            installations: [{ installation_id: app.installation, account: 'acme', repository_selection: 'all' }],
          },
        ],
      },
    },
  });
  const call: GithubTarget['call'] = async (login, method, path, body) => {
    const answer = await fetch(`${target.url}${path}`, {
      method,
      headers: { authorization: `Bearer token-of-${login}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  return {
    ...target,
    organization: 'acme',
    app,
    world,
    call,
    async find(id) {
      const { body } = await call('admin', 'GET', `/users?since=${id - 1}&per_page=1`);
      return (body as { id: number; login: string }[]).find((user) => user.id === id);
    },
  };
}
