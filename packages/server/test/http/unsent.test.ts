import { type Answer, send } from '@belay/testkit/serve';
import { createWorld, type Person, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

let world: World;
let rita: string;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  rita = await world.token('requester');
});

const elevate = '/api/v1/elevate';
const words = 'The October figures do not match <the ledger>';

type Fields = Record<string, string>;

/** Sends what a browser sends: with `fields` a form from a page of `site`, otherwise a request for a page. */
function visit(token: string | undefined, path: string, fields?: Fields, site = 'same-origin'): Promise<Answer> {
  return send(`${world.url}${path}`, {
    method: fields === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'text/html,*/*;q=0.8',
      'sec-fetch-site': site,
      ...(token === undefined ? {} : { cookie: `belay=${token}` }),
      ...(fields === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(fields === undefined ? {} : { body: new URLSearchParams(fields).toString() }),
  });
}

const endLogins = () => world.database.sql`delete from logins`;
const requests = async () => (await world.database.sql`select 1 from executions`).length;

/** Returns the hidden fields of the form that posts to an address. */
function hiddenOf(page: string, action: string): Fields {
  const [, form = ''] = page.split(`action="${action}"`);
  const inputs = form.split('</form>', 1)[0]?.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g) ?? [];
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, value]));
}

/** Returns the fields that the form of a page sends, with what a person has written. */
async function fill(path: string, action: string, written: Fields, token = rita): Promise<Fields> {
  const hidden = hiddenOf((await visit(token, path)).body, action);
  expect(hidden.shown_to).toMatch(/^[\w-]+\.[\w-]{43}$/);
  return { ...hidden, ...written };
}

/** Returns the sealed form in the page that keeps it. */
const sealedIn = ({ body }: Answer): string => hiddenOf(body, '/api/v1/unsent').form ?? '';

async function loseLogin(fields: Fields, action = elevate): Promise<string> {
  await endLogins();
  const kept = await visit(rita, action, fields);
  expect([kept.status, kept.headers['www-authenticate']]).toEqual([401, expect.stringContaining('Bearer')]);
  return sealedIn(kept);
}

const open = async (person: Person, form: string, site?: string) =>
  visit(await world.token(person), '/api/v1/unsent', { form }, site);

describe('a form whose sender has no login any more', () => {
  it('is kept sealed on the page that says so, opens for the same person, and is sent by them alone, once', async () => {
    const before = await requests();
    const fields = await fill('/roles/reader', elevate, { reason: words, duration: 'PT30M' });
    await endLogins();
    // After the end of the login, the browser has dropped the cookie or still has it.
    for (const token of [undefined, rita]) {
      const kept = await visit(token, elevate, fields);
      expect([kept.status, kept.headers['cache-control']]).toEqual([401, 'no-store']);
      expect(kept.body).toContain('Nothing was sent');
      expect(kept.body).not.toContain('October');
      // Without a sign-in, the button shows the same page, with the same sealed form.
      const still = await visit(undefined, '/api/v1/unsent', { form: sealedIn(kept) });
      expect([still.status, sealedIn(still)]).toEqual([401, sealedIn(kept)]);
      const again = await world.token('requester');
      const shown = await visit(again, '/api/v1/unsent', { form: sealedIn(kept) });
      expect(shown.status).toBe(200);
      expect(shown.body).toContain('This is what you wrote');
      expect(shown.body).toContain('The October figures do not match &lt;the ledger></textarea>');
      expect(shown.body).toMatch(/<option[^>]*value="PT30M"[^>]*selected|<option[^>]*selected[^>]*value="PT30M"/);
      // Nothing was sent. The opened form has the CSRF token of the new login, so sending it makes the request.
      expect(await requests()).toBe(before);
      if (token !== undefined) {
        const own = { ...hiddenOf(shown.body, elevate), reason: words, duration: 'PT30M' };
        expect((await visit(again, elevate, own)).status).toBe(303);
        expect(await requests()).toBe(before + 1);
      } else await endLogins();
    }
  });

  it('is shown to no other person', async () => {
    const sealed = await loseLogin(await fill('/roles/reader', elevate, { reason: words }));
    for (const person of ['approver', 'bystander'] as const) {
      const other = await open(person, sealed);
      expect(other.status).toBe(403);
      expect(other.body).not.toContain('October');
    }
    // The form itself is not shown either when another signed-in person sends it again.
    const fields = await fill('/roles/reader', elevate, { reason: words }, await world.token('requester'));
    const resent = await visit(await world.token('approver'), elevate, fields);
    expect(resent.status).toBe(403);
    expect(resent.body).not.toContain('October');
  });

  it('comes back at once, and is not sent, when the person has signed in again elsewhere', async () => {
    const fields = await fill('/roles/reader', elevate, { reason: words, duration: 'PT30M' });
    const before = await requests();
    const shown = await visit(await world.token('requester'), elevate, fields);
    expect(shown.status).toBe(403);
    expect(shown.body).toContain('This is what you wrote');
    expect(shown.body).toContain('The October figures');
    expect(await requests()).toBe(before);
  });

  it('is neither kept for a page of another site, nor opened for one', async () => {
    const fields = await fill('/roles/reader', elevate, { reason: words });
    await endLogins();
    for (const site of ['cross-site', 'same-site']) {
      const planted = await visit(undefined, elevate, fields, site);
      expect([planted.status, sealedIn(planted)]).toEqual([401, '']);
    }
    const sealed = sealedIn(await visit(undefined, elevate, fields));
    for (const site of ['cross-site', 'same-site']) {
      const opened = await open('requester', sealed, site);
      expect(opened.status).toBe(403);
      expect(opened.body).not.toContain('October');
    }
    expect((await open('requester', sealed)).status).toBe(200);
  });

  it('opens for the person and the address that its page was made for, and for no invented ones', async () => {
    const llm = '/api/v1/elevate/llm';
    const fields = await fill(llm, llm, { reason: words });
    const elsewhere = await fill('/roles/reader', elevate, {});
    const theirs = await fill(llm, llm, {}, await world.token('approver'));
    await endLogins();
    const [key] = (fields.shown_to ?? '').split('.');
    const signatures = [
      elsewhere.shown_to,
      theirs.shown_to,
      `${key}.${'A'.repeat(43)}`,
      `${fields.shown_to}.x`,
      'x',
      '.',
      '..',
    ];
    for (const shown_to of signatures) {
      const planted = sealedIn(await visit(undefined, llm, { ...fields, shown_to: shown_to ?? '' }));
      const opened = await open('requester', planted);
      expect([shown_to, opened.status]).toEqual([shown_to, 403]);
      expect(opened.body).not.toContain('October');
    }
    // A form without a signature is not kept.
    const { shown_to: _absent, ...unsigned } = fields;
    expect(sealedIn(await visit(undefined, llm, unsigned))).toBe('');
  });

  it('is not opened when it was changed, was not sealed as a form, or is too large to be kept', async () => {
    const fields = await fill('/roles/reader', elevate, { reason: words });
    const sealed = await loseLogin(fields);
    for (const form of ['', 'x', sealed.slice(0, -3), `${sealed}x`, fields.csrf_token ?? '']) {
      const opened = await open('requester', form);
      expect(opened.status).toBe(400);
      expect(opened.body).not.toContain('October');
    }
    const large = await visit(undefined, elevate, { ...fields, reason: 'w'.repeat(40_000) });
    expect([large.status, sealedIn(large)]).toEqual([401, '']);
    expect((await visit(undefined, '/api/v1/unsent')).headers.location).toBe('/');
  });

  it.each([
    ['a need in words', '/api/v1/elevate/llm', '/api/v1/elevate/llm', { reason: words }],
    ['a custom request', '/api/v1/elevate/dynamic', elevate, { reason: words, permissions: 'logs.read' }],
    ['several roles', '/request?roles=store:reader', '/api/v1/elevations', { roles: 'store:reader', reason: words }],
  ])('keeps %s', async (_form, path, action, written) => {
    const sealed = await loseLogin(await fill(path, action, written), action);
    const shown = await open('requester', sealed);
    expect(shown.status).toBe(200);
    expect(shown.body).toContain('The October figures do not match &lt;the ledger>');
    for (const value of Object.values<string>(written)) if (value !== words) expect(shown.body).toContain(value);
  });

  it('keeps a comment and the remark of a decision, on the page that they were written on', async () => {
    const body = { role: { name: 'reader' }, reason: 'to be discussed' };
    const { json } = await callRest(world.url, 'POST', '/elevate', { token: rita, body });
    await world.drive();
    const { execution_id: id } = json.output as { execution_id: string };
    const comments = `/api/v1/execution/${id}/comments`;
    const own = await fill(`/requests/${id}`, comments, { text: words, kind: 'comment' });
    const comment = await loseLogin(own, comments);
    const shown = await open('requester', comment);
    expect(shown.body).toContain('&lt;the ledger></textarea>');
    expect(shown.body).not.toContain('live.js');

    const adam = await world.token('approver');
    const inbox = await callRest(world.url, 'GET', `/approvals?id=${id}`, { token: adam });
    const [{ id: approval = '' } = {}] = inbox.json.approvals as { id: string }[];
    const decision = `/api/v1/approvals/${approval}/decision`;
    const written = { comment: words, verdict: 'approve' };
    for (const path of [`/requests/${id}`, `/inbox?id=${approval}`]) {
      const again = await world.token('approver');
      const remark = await fill(path, decision, written, again);
      await endLogins();
      const kept = sealedIn(await visit(again, decision, remark));
      const decide = await open('approver', kept);
      expect([path, decide.status]).toEqual([path, 200]);
      expect(decide.body).toContain('value="The October figures do not match &lt;the ledger>"');
    }
    await world.drive();
    const { json: request } = await callRest(world.url, 'GET', `/execution/${id}`, {
      token: await world.token('requester'),
    });
    expect(request).toMatchObject({ state: 'waiting_for_approval', decided_by: [] });
  });

  it('is not opened an hour later', async () => {
    const sealed = await loseLogin(await fill('/roles/reader', elevate, { reason: words }));
    await world.database.setTime(new Date(Date.now() + 59 * 60_000));
    expect((await open('requester', sealed)).status).toBe(200);
    await world.database.advance(2 * 60_000);
    const late = await open('requester', sealed);
    expect(late.status).toBe(400);
    expect(late.body).not.toContain('October');
  });

  it('leaves nothing of what was written in the log', () => {
    expect(JSON.stringify(world.lines)).not.toContain('October');
  });
});
