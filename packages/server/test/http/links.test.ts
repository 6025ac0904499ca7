import { applyCatalog, type LiveCatalog } from '@belay/core';
import { createRegistry, oidcConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

const notify = { provider: 'store', to: 'adam@example.test' };
const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';

/** Programs that fetch every link: their name, method and headers. */
const scanners: [string, string, Record<string, string>][] = [
  ['a scanner of mail', 'GET', {}],
  ['a scanner of mail that looks first', 'HEAD', {}],
  ['a preview in a chat', 'GET', { 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' }],
  ['a browser that fetches ahead', 'GET', { 'sec-purpose': 'prefetch', purpose: 'prefetch' }],
  ['a browser that renders ahead', 'GET', { 'sec-purpose': 'prefetch;prerender', 'x-moz': 'prefetch' }],
  ['a browser that comes from a mail', 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
];

describe('a link in a message', () => {
  let world: World;
  let link: string;
  let api: string;
  let before: unknown;
  beforeAll(async () => {
    world = await createWorld();
    const catalog = world.context.catalog as LiveCatalog;
    // The same configuration, with messages to approvers.
    const document = structuredClone(catalog.current().document) as unknown as {
      workflows: Record<string, { workflow: { do: [unknown, { approve: { with: object } }] } }>;
    };
    const task = document.workflows['approve-and-grant']?.workflow.do[1].approve;
    if (task) task.with = { ...task.with, notify };
    const connectors = createRegistry([oidcConnector, createMemoryConnector(world.store)]);
    await applyCatalog(world.context.db, { document, source: 'test' }, { connectors, resolve: () => undefined });
    await catalog.refresh();
    const asked = await callRest(world.url, 'POST', '/elevate', {
      token: await world.token('requester'),
      body: { role: 'reader', reason: 'An incident' },
    });
    expect(asked.status).toBe(200);
    await world.drive();
    const action = world.store.messages[0]?.actions.find(({ kind }) => kind === 'link');
    link = action?.kind === 'link' ? action.url : '';
    api = action?.kind === 'link' ? (action.api ?? '') : '';
    before = await read();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Returns everything that a decision would change. */
  const read = async () => {
    await world.drive();
    return world.database.sql`
      select (select json_agg(row_to_json(a)) from approvals a) as approvals, (select json_agg(row_to_json(d)) from decisions d) as decisions,
        (select json_agg(row_to_json(g)) from grants g) as grants, (select count(*) from executions) as executions,
        (select json_agg(row_to_json(m)) from messages m) as messages,
        (select json_agg(distinct type) from ledger) as events`;
  };
  const fetchAs = async (method: string, url: string, headers: Record<string, string>) =>
    send(new URL(url, world.url).href, { method, headers: { accept, ...headers } });

  it('leads to the page with the request, where the decision is a form that is posted', async () => {
    const page = await fetchAs('GET', link, { cookie: `belay=${await world.token('approver')}` });
    expect([new URL(link).pathname, page.status]).toEqual(['/inbox', 200]);
    expect(page.body).toContain('An incident');
    expect(page.body).toMatch(/<form[^>]+method="post"[^>]+action="\/api\/v1\/approvals\/[\w-]+\/decision"/);
  });

  it('says besides where a program reads the same request', async () => {
    const authorization = `Bearer ${await world.token('approver')}`;
    const { status, body } = await send(api, { headers: { authorization } });
    expect([status, JSON.parse(body)]).toMatchObject([200, { approvals: [{ reason: 'An incident' }] }]);
  });

  it.each(scanners)(
    'changes nothing when %s fetches it (%s), with a session and without',
    async (_, method, headers) => {
      const approver = await world.token('approver');
      const sessions: Record<string, string>[] = [
        {},
        { cookie: `belay=${approver}` },
        { authorization: `Bearer ${approver}` },
      ];
      for (const who of sessions) {
        const { status } = await fetchAs(method, link, { ...headers, ...who });
        expect(status).toBeLessThan(500);
      }
      expect(await read()).toEqual(before);
    },
  );

  it('changes nothing when everything on its page is fetched as well, addresses of forms included', async () => {
    const cookie = `belay=${await world.token('approver')}`;
    const { body } = await fetchAs('GET', link, { cookie });
    const found = Array.from(body.matchAll(/(?:href|src|action|formaction)="([^"#]+)/g), ([, url = '']) =>
      url.replaceAll('&amp;', '&'),
    );
    const own = [...new Set(found)].filter((url) => new URL(url, world.url).origin === world.url);
    expect(own.filter((url) => url.endsWith('/decision'))).toHaveLength(1);
    for (const url of own) {
      for (const [, method, headers] of scanners) await fetchAs(method, url, { cookie, ...headers });
      // A verdict in the query of the address does not decide either.
      for (const verdict of ['approve', 'deny']) {
        const asked = new URL(url, world.url);
        asked.searchParams.set('verdict', verdict);
        await fetchAs('GET', asked.href, { cookie });
      }
    }
    expect(await read()).toEqual(before);
  });
});
