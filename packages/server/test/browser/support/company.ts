import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogin, upsertUser } from '@belay/core';
import { type Connector, webhookConnector } from '@belay/providers';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';

const systems = {
  'billing-postgres': 'Billing PostgreSQL',
  'orders-mysql': 'Orders MySQL',
  'platform-kubernetes': 'Platform Kubernetes',
  'data-kubernetes': 'Data Kubernetes',
  'aws-production': 'AWS production',
  'aws-staging': 'AWS staging',
  github: 'GitHub',
  okta: 'Okta',
  'google-workspace': 'Google Workspace',
  'support-http': 'Support desk',
};
const levels = [
  ['read', 'Read tables and reports of', 'PT8H'],
  ['write', 'Change records of', 'PT2H'],
  ['deploy', 'Deploy and restart', 'PT4H'],
  ['admin', 'Administer', 'PT1H'],
  ['debug', 'Open a shell in', 'PT1H'],
] as const;
const subjects = [
  'invoices',
  'payments',
  'ledger',
  'orders',
  'shipping',
  'catalogue',
  'search',
  'accounts',
  'sessions',
  'reports',
];
const reasons = [
  'Customers in Portugal see the wrong tax on their invoices, see SUP-4182',
  'Rolling back the release of this morning',
  'The nightly report is missing two branches',
  'On call: the queue of payments grows',
  'Quarterly audit of permissions',
];
const names = [
  'Ada Lovelace',
  'Grace Hopper',
  'Katherine Johnson',
  'Alan Turing',
  'Margaret Hamilton',
  'Barbara Liskov',
  'Edsger Dijkstra',
  'Radia Perlman',
  'Donald Knuth',
  'Frances Allen',
  'Tony Hoare',
  'Hedy Lamarr',
  'Lynn Conway',
  'Ken Thompson',
  'Dennis Ritchie',
  'Annie Easley',
  'Jean Bartik',
  'Niklaus Wirth',
  'Sophie Wilson',
  'Maximiliana Featherstonehaugh-Cholmondeley von Hohenzollern',
];

/** Returns five hundred roles of ten systems. */
export function manyRoles() {
  return Object.fromEntries(
    Object.entries(systems).flatMap(([provider, name]) =>
      subjects.flatMap((subject) =>
        levels.map(([level, does, most]) => [
          `${provider}-${subject}-${level}`,
          {
            description: `${does} ${subject} in ${name}`,
            providers: [provider],
            inherits: [`${provider}:read`],
            workflows: ['approve-and-grant'],
            permissions: { groups: ['engineers'] },
            max_duration: most,
            default_duration: 'PT30M',
          },
        ]),
      ),
    ),
  );
}

/** A role for emergencies, of one of these systems. */
export const emergencyRole = 'aws-production-emergency';
const emergency = {
  [emergencyRole]: {
    description: 'Administer AWS production during an outage',
    providers: ['aws-production'],
    inherits: ['aws-production:read'],
    workflows: ['approve-and-grant'],
    permissions: { groups: ['engineers'] },
    max_duration: 'PT1H',
    default_duration: 'PT30M',
    break_glass: { tell: { groups: ['operators'] } },
  },
};

/** A role that the people here may see, but not request. */
export const shownRole = 'aws-production-billing';
const shown = {
  [shownRole]: {
    description: 'Read the bills of AWS production',
    providers: ['aws-production'],
    inherits: ['aws-production:read'],
    workflows: ['approve-and-grant'],
    permissions: { groups: ['finance'] },
    discoverable: true,
  },
};

/** The providers of these roles. */
export const manySystems = Object.fromEntries(
  Object.entries(systems).map(([id, name]) => [id, { name, provider: 'memory' }]),
);

const secrets = [`whsec_${Buffer.alloc(32, 1).toString('base64')}`];

/** Starts a receiver that accepts every message. Without it `drive` would wait for repeated deliveries. */
async function openChat() {
  const server = createServer((incoming, response) => {
    incoming.resume().on('end', () => response.writeHead(204).end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    provider: { name: 'Company chat', provider: 'webhook', config: { url, secrets, allow_private: true } },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export interface Company extends AsyncDisposable {
  world: World;
  /** Holds access, waits for decisions, and has ten thousand ended requests. */
  requester: string;
  /** Decides on two hundred requests. */
  approver: string;
  administrator: string;
  /** One request of the requester of each kind. */
  requests: Readonly<Record<'active' | 'waiting' | 'denied' | 'emergency', string>>;
}

/** Starts a server with five hundred roles, two hundred requests that wait, and ten thousand that have ended. */
export async function openCompany(): Promise<Company> {
  const chat = await openChat();
  const world = await createWorld({
    limits: { requests: 1_000_000 },
    connectors: [webhookConnector as Connector],
    change: (document) => ({
      ...document,
      access: { administrators: { groups: ['operators'] }, auditors: { users: ['bo@example.test'] } },
      providers: { ...document.providers, ...manySystems, 'company-chat': chat.provider },
      messages: { channels: ['company-chat'] },
      roles: { ...document.roles, ...manyRoles(), ...emergency, ...shown },
    }),
  });
  const { requester, requests } = await fill(world);
  return {
    world,
    requester,
    approver: await world.token('approver'),
    administrator: await signIn(world, 'Olga Operator', ['operators', 'approvers']),
    requests,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      chat.close();
    },
  };
}

/** Creates a person, and returns the token of their login. */
async function signIn(world: World, name: string, groups: string[]): Promise<string> {
  const subject = name.toLowerCase().replaceAll(/[^a-z]+/g, '.');
  const known = {
    id: world.context.newId(),
    provider: 'demo',
    subject,
    email: `${subject}@example.test`,
    name,
    groups,
  };
  const { token } = await createLogin(world.context, {
    user: await upsertUser(world.database.db, known),
    kind: 'browser',
  });
  return token;
}

async function call(world: World, token: string, path: string, body: object): Promise<Record<string, unknown>> {
  const { status, body: text } = await send(`${world.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function request(world: World, token: string, role: string, reason: string): Promise<string> {
  const { output } = await call(world, token, '/elevate', { role, reason });
  return (output as { execution_id: string }).execution_id;
}

async function fill(world: World) {
  const requester = await world.token('requester');
  const approver = await world.token('approver');
  const ids = Object.keys(systems);
  const roles = ['invoices-read', 'ledger-write', 'orders-debug'].map((role, index) => `${ids[index]}-${role}`);
  const asked = await Promise.all(
    [...roles, emergencyRole].map((role, index) => request(world, requester, role, reasons[index] ?? '')),
  );
  const [active = '', denied = '', waiting = '', emergency = ''] = asked;
  await world.drive();
  await call(world, approver, `/approvals/${active}/decision`, { verdict: 'approve', comment: 'Until noon' });
  await call(world, approver, `/approvals/${emergency}/decision`, { verdict: 'approve' });
  await call(world, approver, `/approvals/${denied}/decision`, { verdict: 'deny', comment: 'Please use the replica' });
  await call(world, approver, `/execution/${waiting}/comments`, { kind: 'question', text: 'Which order is it about?' });
  await world.drive();
  for (const [person, name] of names.entries()) {
    const token = await signIn(world, name, ['engineers']);
    if (person === 0) await request(world, token, emergencyRole, reasons[3] ?? '');
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        const [level = ''] = levels[(person + index) % levels.length] ?? [];
        const subject = subjects[(person * 3 + index) % subjects.length];
        const role = `${ids[index]}-${subject}-${level}`;
        return request(world, token, role, reasons[(person + index) % reasons.length] ?? '');
      }),
    );
  }
  await world.drive();
  await world.database.sql`
    insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, created_at, ended_at)
    select gen_random_uuid(), workflow, definition_digest, 1, owner_id, input, status, state,
      app_now() - n * interval '1 hour', app_now() - n * interval '50 minutes'
    from executions, generate_series(1, 10000) n where id = ${denied}`;
  return { requester, requests: { active, waiting, denied, emergency } };
}
