import { openVisitor } from '@belay/testkit/visitor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from '../http/support/caller.js';
import { openKinds } from '../http/support/kinds.js';

/** Attacks with a private account at a public provider, where any person can create an organization. */

let kinds: Awaited<ReturnType<typeof openKinds>>;
beforeAll(async () => {
  kinds = await openKinds();
});
afterAll(() => kinds.close());

const open = () => openVisitor(kinds.world.url);
const attempt = async () => {
  const { world } = kinds;
  const token = await world.token('requester');
  const body = { role: { name: 'reader' }, providers: ['store'], reason: 'Because' };
  const { json } = await callRest(world.url, 'POST', '/elevate', { token, body });
  await world.drive();
  return String((json.output as { execution_id: string }).execution_id);
};

describe('a private account in an organization that is called approvers', () => {
  it('signs in, sees nothing to decide, and decides nothing', async () => {
    const id = await attempt();
    const browser = open();
    expect((await kinds.signInAtGitHub(browser)).status).toBe(200);
    expect((await browser.visit('/auth/whoami')).json).toMatchObject({ email: 'rita@hub.example', groups: [] });
    expect((await browser.visit('/approvals')).json).toMatchObject({ approvals: [] });
    const decided = await browser.visit(`/approvals/${id}/decision`, { body: { verdict: 'approve' } });
    expect([decided.status, decided.json.code]).toEqual([404, 'NOT_FOUND']);
    expect((await browser.visit(`/execution/${id}`)).status).toBe(404);
  });

  it('gets the groups that the configuration gives it the moment that it does, and loses them as fast', async () => {
    const browser = open();
    await kinds.signInAtGitHub(browser);
    const groups = async () => (await browser.visit('/auth/whoami')).json.groups;
    await kinds.configure({ github: { groups: { map: { approvers: 'contractors' } } } });
    expect(await groups()).toEqual(['contractors']);
    await kinds.configure({});
    expect(await groups()).toEqual([]);
  });

  it('does not come in at all where sign_in says who may: a page says why, and nothing is kept of them', async () => {
    await kinds.configure({ github: { sign_in: { organizations: ['acme'] } } });
    try {
      const browser = open();
      const address = (await kinds.github.press(await kinds.begin(browser, 'github'), 'thief')).href;
      const page = await browser.visit(address, { site: 'cross-site', accept: 'text/html' });
      expect(page.status).toBe(403);
      expect(page.body).toContain(
        'GitHub confirmed your identity, but you are not a member of an organization that is allowed to sign in',
      );
      expect(browser.cookies.has('belay')).toBe(false);
      const refused = await kinds.signInAtGitHub(open());
      expect([refused.status, refused.json.code]).toEqual([403, 'FORBIDDEN']);
      const { sql } = kinds.world.database;
      expect(await sql`select from user_identities where email = 'adam@example.test' and provider = 'github'`).toEqual(
        expect.objectContaining({ length: 0 }),
      );
      const [told] = await sql`select data from ledger where type = 'login.refused' order by seq limit 1`;
      expect(told?.data).toMatchObject({ email: 'adam@example.test', condition: 'sign_in.organizations' });
    } finally {
      await kinds.configure({});
    }
  });

  it('that is signed in already is signed out by such a change', async () => {
    const browser = open();
    await kinds.signInAtGitHub(browser);
    await kinds.configure({ github: { sign_in: { email_domains: ['example.test'] } } });
    try {
      expect((await browser.visit('/auth/whoami')).status).toBe(401);
    } finally {
      await kinds.configure({});
    }
    expect((await browser.visit('/auth/whoami')).status).toBe(200);
  });
});
