import * as vitest from 'vitest';
import { type AccessRequest, gcpConnector } from '../../src/index.js';
import { conformance, type NamedEntitlement } from '../../src/testkit/index.js';
import { type Google, startGoogle } from './google.js';

const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };
const onShop = { allow: ['projects/shop'], deny: [] };
const viewer = 'role/roles/bigquery.dataViewer';
const nowhere = 'http://127.0.0.1:1';
const config = gcpConnector.config.parse({ projects: ['shop', 'dev'], groups: ['oncall@example.com'] });
const plan = (request: AccessRequest) => gcpConnector.plan?.(config, request) ?? { ok: false, issues: [] };

/** Returns the time in the text of a condition or a membership. */
const dateOf = (text: string | undefined) => {
  const time = /\d{4}-[^"]*/.exec(text ?? '')?.[0];
  return time === undefined ? undefined : new Date(time);
};

async function openGoogle(settings: Record<string, unknown> = {}) {
  const google = await startGoogle();
  return {
    google,
    client: await google.client(settings),
    down: await google.client({
      endpoints: { resource_manager: nowhere, iam: nowhere, cloud_identity: nowhere, directory: nowhere },
    }),
    plan,
    close: async () => google[Symbol.asyncDispose](),
  };
}

const renameIn = (google: Google) => async (one: NamedEntitlement) => {
  const identity = `renamed-${one.identity}`;
  google.rename(one.identity, identity);
  return { ...one, identity };
};

conformance(vitest, 'gcp with roles', async () => {
  const opened = await openGoogle();
  const { google } = opened;
  const { shop } = google;
  for (const role of ['roles/owner', google.role()]) shop.bindings.push({ role, members: [`user:${google.user()}`] });
  const isOf =
    ({ id }: NamedEntitlement) =>
    (title: string | undefined) =>
      title === `belay-${id}`;
  let made = 0;
  return {
    ...opened,
    async fresh() {
      made += 1;
      return {
        id: `entitlement-${made}`,
        identity: google.user(),
        access: { role: google.role(), resource: 'projects/shop' },
      };
    },
    nonsense: [
      { ...nothing, roles: [viewer] },
      { ...nothing, resources: onShop },
      { ...nothing, roles: ['roles/bigquery.dataViewer'], resources: onShop },
      { ...nothing, roles: ['role/bigquery.dataViewer'], resources: onShop },
      { ...nothing, roles: ['role/roles/owner'], resources: onShop },
      { ...nothing, roles: ['role/roles/editor'], resources: onShop },
      { ...nothing, roles: ['role/roles/viewer'], resources: onShop },
      { ...nothing, roles: [`role/roles/${'a'.repeat(300)}`], resources: onShop },
      { ...nothing, roles: [viewer], resources: { allow: ['shop'], deny: [] } },
      { ...nothing, roles: [viewer], resources: { allow: ['projects/another'], deny: [] } },
      { ...nothing, roles: [viewer], resources: { allow: ['projects/shop'], deny: ['projects/dev'] } },
      { ...nothing, roles: [viewer], resources: onShop, permissions: { allow: ['bigquery.tables.get'], deny: [] } },
      { ...nothing, roles: [viewer], resources: onShop, permissions: { allow: [], deny: ['bigquery.tables.get'] } },
    ],
    sensible: {
      ...nothing,
      roles: [viewer, 'role/projects/shop/roles/reader', 'group/oncall@example.com'],
      resources: { allow: ['projects/shop', 'projects/dev'], deny: [] },
    },
    unknownAccess: { role: 'roles/no.suchRole', resource: 'projects/shop' },
    knowsIdentities: false,
    at: {
      rename: renameIn(google),
      endOf: async (one) =>
        dateOf(shop.bindings.find(({ condition }) => isOf(one)(condition?.title))?.condition?.expression),
      neighbours: async (one) =>
        JSON.stringify([shop.bindings.filter(({ condition }) => !isOf(one)(condition?.title)), shop.auditConfigs]),
    },
  };
});

conformance(vitest, 'gcp with groups', async () => {
  const opened = await openGoogle({ exclusive: ['oncall@example.com'] });
  const { google } = opened;
  const { oncall } = google;
  google.user('standing@example.com');
  const idOf = (email: string) => google.users.find((one) => one.email === email)?.id ?? '';
  oncall.members.set(idOf('standing@example.com'), [{ name: 'MEMBER' }, { name: 'OWNER' }]);
  const access = { group: 'oncall@example.com' };
  let made = 0;
  return {
    ...opened,
    async fresh() {
      made += 1;
      return { id: `entitlement-${made}`, identity: google.user(), access };
    },
    nonsense: [
      { ...nothing, roles: ['group/oncall@example.com'], resources: onShop },
      { ...nothing, roles: ['group/others@example.com'] },
      { ...nothing, roles: ['group/'] },
      { ...nothing, roles: ['oncall@example.com'] },
    ],
    sensible: { ...nothing, roles: ['group/oncall@example.com'] },
    unknownAccess: { group: 'no-such-group@example.com' },
    knowsIdentities: true,
    at: {
      rename: renameIn(google),
      endOf: async ({ identity }) => dateOf(oncall.members.get(idOf(identity))?.[0]?.expiryDetail?.expireTime),
      neighbours: async ({ identity }) =>
        JSON.stringify([...oncall.members].filter(([member]) => member !== idOf(identity))),
      async stranger() {
        const identity = google.user();
        oncall.members.set(idOf(identity), [{ name: 'MEMBER' }]);
        return { id: '', identity, access };
      },
    },
  };
});
