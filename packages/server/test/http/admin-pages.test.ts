import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let world: World;
const tokens = { administrator: '', auditor: '', plain: '' };
beforeAll(async () => {
  world = await createWorld({
    change: (document) => ({
      ...document,
      access: { administrators: { groups: ['approvers'] }, auditors: { users: ['bo@example.test'] } },
    }),
  });
  tokens.administrator = await world.token('approver');
  tokens.auditor = await world.token('bystander');
  tokens.plain = await world.token('requester');
});
afterAll(() => world[Symbol.asyncDispose]());

const pages = [
  '/admin/access',
  '/admin/overdue',
  '/admin/logs',
  '/admin/people',
  '/admin/people/rita@example.test',
  '/admin/configuration',
  '/admin/configuration/1.0.1',
  '/admin/agents',
];

type Who = keyof typeof tokens;

/** Opens a page, or posts a form of a page, as the browser of a person does. */
function visit(who: Who, path: string, fields?: Record<string, string>) {
  return send(`${world.url}${path}`, {
    method: fields === undefined ? 'GET' : 'POST',
    headers: {
      cookie: `belay=${tokens[who]}`,
      accept: 'text/html',
      'sec-fetch-site': 'same-origin',
      ...(fields === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(fields === undefined ? {} : { body: new URLSearchParams(fields).toString() }),
  });
}

/** Returns the CSRF token of the form that posts to an address. */
function tokenOf(page: string, action: string): string {
  return (
    new RegExp(`action="${action}"[^>]*><input type="hidden" name="csrf_token" value="([^"]+)"`).exec(page)?.[1] ?? ''
  );
}

describe('the pages of administration', () => {
  it('are for administrators and auditors; an auditor sees no form that acts', async () => {
    for (const path of pages) {
      const [mine, theirs, none] = await Promise.all([
        visit('administrator', path),
        visit('auditor', path),
        visit('plain', path),
      ]);
      expect([path, mine.status, theirs.status, none.status]).toEqual([path, 200, 200, 403]);
      expect(mine.headers['content-type']).toContain('text/html');
      expect(theirs.body).not.toMatch(/action="\/api\/v1\/admin\//);
      for (const { body } of [mine, theirs]) {
        for (const token of Object.values(tokens)) expect(body).not.toContain(token);
      }
    }
  });

  it('are in the navigation of those who oversee, and of no one else', async () => {
    expect((await visit('administrator', '/')).body).toContain('href="/admin/access"');
    expect((await visit('auditor', '/')).body).toContain('href="/admin/access"');
    expect((await visit('plain', '/')).body).not.toContain('/admin/');
  });

  it('filter the audit log by times of a browser, in UTC, and name the field that is not a time', async () => {
    const { body, status } = await visit(
      'auditor',
      '/admin/logs?user=&since=2026-01-31T09%3A30&until=2026-01-31T09%3A31%3A15Z',
    );
    expect(status).toBe(200);
    expect(body).toMatch(/<label for="since">From <span[^>]*>\(UTC\)/);
    expect(body).toMatch(/<input[^>]*name="since"[^>]*value="2026-01-31T09:30"/);
    expect(body).toMatch(/<input[^>]*name="until"[^>]*value="2026-01-31T09:31:15"/);
    expect(body).toMatch(/<summary>.*Filters<span class="count">2<span class="hidden-text"> set/);
    expect(body).toContain('No matching events');

    const wrong = await visit('auditor', '/admin/logs?since=yesterday&role=%3Cb%3E');
    expect(wrong.status).toBe(400);
    expect(wrong.body).toMatch(
      /role="alert".*<a href="#since">From<\/a>: must be a day or a time, for example 2026-01-31 /s,
    );
    expect(wrong.body).toMatch(/<input id="since" name="since" aria-describedby="since-fault" aria-invalid="true"/);
    expect(wrong.body).toMatch(/<details class="fold" id="filters" open/);
    expect(wrong.body).toMatch(/name="role"[^>]*value="&lt;b>"/);
    expect(wrong.body).not.toContain('No matching events');
    expect((await visit('plain', '/admin/logs?since=yesterday')).body).not.toContain('id="since"');

    const day = await visit('auditor', '/admin/logs?since=2026-01-31&until=2026-01-31');
    expect(day.body).toMatch(/<input[^>]*name="since"[^>]*value="2026-01-31T00:00"/);
    expect(day.body).toMatch(/<input[^>]*name="until"[^>]*value="2026-01-31T23:59"/);

    const reversed = await visit('auditor', '/admin/logs?since=2026-02-01T00%3A00&until=2026-01-01T00%3A00');
    expect(reversed.body).toContain('“From” is after “Until”');
  });

  it('list 25 entries at a time, with the next ones in the address, while programs get as many as before', async () => {
    await world.database.sql`
      insert into ledger (type, level, message, actor) select 'note.' || n, 'info', 'page ' || n, '{"system": "test"}' from generate_series(1, 60) n`;
    const shown = (body: string) => [...body.matchAll(/page (\d+)<br/g)].map(([, number]) => Number(number));
    const first = await visit('auditor', '/admin/logs');
    expect(shown(first.body)).toEqual(Array.from({ length: 25 }, (_, index) => 60 - index));
    const next = /<a [^>]*href="(\/admin\/logs\?cursor=[^"]+)"[^>]*rel="next"/.exec(first.body)?.[1] ?? '';
    expect(shown((await visit('auditor', next)).body)).toEqual(Array.from({ length: 25 }, (_, index) => 35 - index));
    expect(shown((await visit('auditor', '/admin/logs?limit=50')).body)).toHaveLength(50);
    const program = await send(`${world.url}/api/v1/admin/logs`, {
      headers: { authorization: `Bearer ${tokens.auditor}` },
    });
    expect((JSON.parse(program.body) as { logs: unknown[] }).logs.length).toBeGreaterThan(60);
  });

  it('fold the changes of the first version by section, and what is long', async () => {
    const { body } = await visit('auditor', '/admin/configuration/1.0.1');
    expect(body).toMatch(
      /<details class="section" id="section-roles"><summary><code>roles<\/code> <span class="quiet">2 added/,
    );
    expect(body).not.toContain('class="section" open');
    await world.database.sql`
      insert into ledger (type, level, message, actor) values ('note', 'info', ${`begin ${'long '.repeat(400)}end`}, '{"system": "test"}')`;
    const log = await visit('auditor', '/admin/logs');
    expect(log.body).toMatch(
      /<details class="long"><summary>begin (?:long ){38}…?[^<]{0,5}<\/summary>begin (?:long ){400}end<\/details>/,
    );
  });

  it('separate two people, on a form that neither of the two can send', async () => {
    const [row] = await world.database.sql`select id from users where email = 'rita@example.test'`;
    const page = await visit('administrator', '/admin/people/rita@example.test');
    const action = `/api/v1/admin/people/${row?.id}/separate`;
    const csrf_token = tokenOf(page.body, action);
    expect(csrf_token).not.toBe('');
    const asked = { other: 'bo@example.test', reason: 'one mailbox' };
    expect((await visit('administrator', action, asked)).status).toBe(403);
    expect((await visit('auditor', action, { ...asked, csrf_token })).status).toBe(403);
    const own = await visit('administrator', action, { ...asked, other: 'adam@example.test', csrf_token });
    expect(own.status).toBe(403);
    const done = await visit('administrator', action, { ...asked, csrf_token });
    expect([done.status, done.headers.location]).toEqual([303, '/admin/people']);
    const log = await visit('administrator', '/admin/logs?type=people.separated');
    expect(log.body).toContain('one mailbox');
  });

  it('stop a person with a reason, on a form of their own only', async () => {
    const path = '/admin/people/rita@example.test';
    const page = await visit('administrator', path);
    const action = `/api/v1${path.replace('@', '%40')}/stop`;
    const csrf_token = tokenOf(page.body, action);
    expect(csrf_token).not.toBe('');
    expect((await visit('administrator', action, { reason: 'left' })).status).toBe(403);
    expect((await visit('plain', action, { reason: 'left', csrf_token })).status).toBe(403);
    const done = await visit('administrator', action, { reason: 'left the company', csrf_token });
    expect([done.status, done.headers.location]).toEqual([303, '/admin/people']);
    const log = await visit('administrator', '/admin/logs?user=rita%40example.test');
    expect(log.body).toContain('left the company');
  });
});
