import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

const day = 24 * 60 * 60_000;
const justified = { verdict: 'justified', note: 'INC-1: <b>the store</b> was down' };

let world: World;
let tokens: Record<'requester' | 'reviewer' | 'auditor', string>;
beforeEach(async () => {
  world = await createWorld({
    change: (document) => ({
      ...document,
      access: { auditors: { users: ['bo@example.test'] } },
      messages: { channels: ['store'] },
      roles: {
        ...document.roles,
        reader: {
          ...document.roles.reader,
          workflows: ['at-once'],
          break_glass: { tell: { groups: ['watch'] }, review: { by: { groups: ['approvers', 'engineers'] } } },
        },
      },
      workflows: {
        ...document.workflows,
        'at-once': {
          workflow: {
            document: { dsl: '1.0.3', namespace: 'test', name: 'at-once', version: '1.0.0' },
            do: [{ grant: { call: 'access.grant' } }],
          },
        },
      },
    }),
  });
  await world.database.setTime(new Date());
  tokens = {
    requester: await world.token('requester'),
    reviewer: await world.token('approver'),
    auditor: await world.token('bystander'),
  };
});
afterEach(() => world[Symbol.asyncDispose]());

/** Uses the role until its access has ended. Returns the ids of the request and its review. */
async function use(): Promise<{ execution: string; id: string }> {
  const asked = await callRest(world.url, 'POST', '/elevate', {
    token: tokens.requester,
    body: { role: 'reader', reason: 'An incident', duration: 'PT1M' },
  });
  await world.drive();
  await world.database.advance(5 * 60_000);
  await world.drive();
  const { json } = await callRest(world.url, 'GET', '/reviews', { token: tokens.auditor });
  const [review] = json.reviews as { id: string }[];
  return { execution: (asked.json.output as { execution_id: string }).execution_id, id: review?.id ?? '' };
}

const close = (who: keyof typeof tokens, id: string, body: object = justified) =>
  callRest(world.url, 'POST', `/reviews/${id}/close`, { token: tokens[who], body });

/** Opens a page, or posts a form of a page, as the browser of a person does. */
function visit(who: keyof typeof tokens, path: string, fields?: Record<string, string>) {
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

describe('reviews of emergencies over HTTP', () => {
  it('are closed once by a reviewer, and not by the requester, an auditor or a stranger', async () => {
    const { id, execution } = await use();
    expect((await close('requester', id)).status).toBe(403);
    expect((await close('auditor', id)).status).toBe(403);
    expect((await callRest(world.url, 'POST', `/reviews/${id}/close`, { body: justified })).status).toBe(401);
    expect((await close('reviewer', execution)).status).toBe(404);
    expect(await close('reviewer', id)).toMatchObject({ status: 200, json: { id, status: 'closed', ...justified } });
    expect(await close('reviewer', id, { ...justified, verdict: 'not_justified' })).toMatchObject({
      status: 409,
      json: { message: 'The review has already been closed' },
    });
  });

  it.each([
    ['a verdict of none', { ...justified, verdict: 'approve' }, 400],
    ['no note', { verdict: 'justified' }, 400],
    ['an empty note', { ...justified, note: '  ' }, 400],
    ['a note of 3,000 characters', { ...justified, note: 'x'.repeat(3_000) }, 400],
    ['a note of 1 MB', { ...justified, note: 'x'.repeat(1_000_000) }, 413],
    ['a note with a NUL', { ...justified, note: 'a\0b' }, 400],
    ['another field', { ...justified, closed_by: 'someone' }, 400],
  ])('are not closed with %s', async (_what, body, status) => {
    const { id } = await use();
    expect((await close('reviewer', id, body)).status).toBe(status);
    const { json } = await callRest(world.url, 'GET', '/reviews', { token: tokens.reviewer });
    expect(json.reviews).toMatchObject([{ id, status: 'open' }]);
  });

  it('are a page that leads to the form and back, without one for those who only see', async () => {
    const { id, execution } = await use();
    const page = await visit('reviewer', '/reviews');
    expect(page.body).toContain('reader, used by Rita');
    expect(page.body).toContain(`href="/requests/${execution}"`);
    expect((await visit('reviewer', '/')).body).toContain('href="/reviews"');
    expect((await visit('reviewer', `/requests/${execution}`)).body).toContain(
      `href="/reviews?execution_id=${execution}"`,
    );
    const action = `/api/v1/reviews/${id}/close`;
    const token = new RegExp(`action="${action}"[^>]*><input type="hidden" name="csrf_token" value="([^"]+)"`).exec(
      page.body,
    )?.[1];
    expect((await visit('auditor', '/reviews')).body).not.toContain(action);
    expect((await visit('requester', '/reviews')).body).toContain('No open reviews');
    expect((await visit('requester', '/')).body).not.toContain('href="/reviews"');
    expect((await visit('reviewer', action, justified)).status).toBe(403);
    const closed = await visit('reviewer', action, { ...justified, csrf_token: token ?? '' });
    expect([closed.status, closed.headers.location]).toEqual([303, `/reviews?execution_id=${execution}`]);
    const after = await visit('reviewer', '/reviews?status=closed');
    expect(after.body).toContain('&lt;b>the store&lt;/b>');
    expect((await visit('reviewer', '/')).body).not.toContain('href="/reviews"');
    expect((await visit('requester', `/requests/${execution}`)).body).toContain('found it justified');
  });

  it('are counted for operators when they are overdue', async () => {
    await use();
    await world.database.advance(8 * day);
    const { body } = await send(`${world.url}/metrics`, { headers: { accept: 'text/plain' } });
    expect(body).toContain('belay_overdue_reviews 1');
    const health = await callRest(world.url, 'GET', '/health');
    expect(health.json.services).toMatchObject({ workflow_engine: expect.stringContaining('1 reviews of emergency') });
    tokens.auditor = await world.token('bystander');
    expect((await visit('auditor', '/reviews?status=overdue')).body).toContain('overdue');
  });
});
