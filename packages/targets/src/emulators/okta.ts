import { completeOkta, type OktaWorld } from './okta-world.js';
import { rsaKeyOf } from './rsa-key.js';
import { type EmulatorTarget, startEmulator } from './start.js';

export interface OktaTarget extends EmulatorTarget {
  /** The service app as which the connector signs in. */
  app: { clientId: string; privateKey: string };
  /** The changes that a test can make at Okta beside the connector. */
  world: OktaWorld;
  /** Calls the management API as the administrator. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
}

export interface OktaOptions {
  /** Groups and their members, made before the start; the members are `<prefix>-1@example.test` and so on. */
  crowds?: readonly { group: string; members: number; prefix: string }[];
  now(): number;
}

const readKey = rsaKeyOf('pkcs8');

/** Starts the emulator of Okta with a service app. What the emulator lacks is in `okta-world.ts`. */
export async function startOkta({ crowds = [], now }: OktaOptions): Promise<OktaTarget> {
  const { publicKey, privateKey } = readKey();
  const app = { clientId: '0oabelay', privateKey };
  const { complete, world, connect } = completeOkta({ clientId: app.clientId, publicKey, now });
  const people = crowds.flatMap(({ members, prefix }) =>
    Array.from({ length: members }, (_, index) => ({
      id: `00u${prefix}${index + 1}`,
      login: `${prefix}-${index + 1}@example.test`,
    })),
  );
  const target = await startEmulator({
    service: 'okta',
    now,
    complete,
    seed: {
      tokens: { admin: { login: 'admin', scopes: [] } },
      okta: {
        users: people.map(({ id, login }) => ({ okta_id: id, login, email: login })),
        groups: crowds.map(({ group }, index) => ({ okta_id: `00gcrowd${index}`, name: group })),
        group_memberships: crowds.flatMap(({ prefix }, index) =>
          people
            .filter(({ id }) => id.startsWith(`00u${prefix}`))
            .map(({ id }) => ({ group_okta_id: `00gcrowd${index}`, user_okta_id: id })),
        ),
      },
    },
  });
  const call: OktaTarget['call'] = async (method, path, body) => {
    const answer = await fetch(`${target.url}${path}`, {
      method,
      headers: { authorization: 'SSWS admin', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  connect((method, path) => call(method, path));
  return { ...target, app, world, call };
}
