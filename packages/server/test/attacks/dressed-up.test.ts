import { createLogger } from '@belay/program';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CallOptions, callRest } from '../http/support/caller.js';

/** Attacks with texts that other people read: a text must not look like a different text. */

let world: World;
let requester: string;
let approver: string;
beforeAll(async () => {
  world = await createWorld();
  requester = await world.token('requester');
  approver = await world.token('approver');
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);
/** Right-to-left override, isolate, escape sequence, C1 control, line separator, Arabic letter mark, bell. */
const disguise = 'read \u202eetirw\u202c \u2066x\u2069 \u001b[31mred \u009b1m \u2028 \u061c \u0007 end';
const raw = /[^\P{Cc}\n\r\t]|[\p{Zl}\p{Zp}\u061c\u202a-\u202e\u2066-\u2069]/u;

it('a reason and a comment with control or bidirectional characters are shown escaped on every page, and kept as they are', async () => {
  const asked = await call('POST', '/elevate', { token: requester, body: { role: 'reader', reason: disguise } });
  expect(asked.status).toBe(200);
  await world.drive();
  const { execution_id: id } = asked.json.output as { execution_id: string };
  const page = async (token: string, path: string) => {
    const headers = { cookie: `belay=${token}`, accept: 'text/html', 'sec-fetch-site': 'same-origin' };
    return (await call('GET', path, { headers })).body;
  };
  for (const [token, path] of [
    [approver, '/approvals'],
    [approver, '/home'],
    [approver, `/execution/${id}`],
    [requester, `/execution/${id}`],
    [requester, '/executions'],
    [requester, '/logs'],
  ] as const) {
    const body = await page(token, path);
    expect([path, raw.exec(body)?.[0]]).toEqual([path, undefined]);
  }
  expect(await page(approver, '/approvals')).toContain(
    'read \\u{202e}etirw\\u{202c} \\u{2066}x\\u{2069} \\u{1b}[31mred',
  );
  expect(await page(approver, `/execution/${id}`)).toContain('\\u{202e}etirw');

  // A program gets the original text.
  const [item] = (await call('GET', '/approvals', { token: approver })).json.approvals as { reason: string }[];
  expect(item?.reason).toBe(disguise);
  const decided = { verdict: 'deny', comment: disguise };
  expect((await call('POST', `/approvals/${id}/decision`, { token: approver, body: decided })).status).toBe(200);
  await world.drive();
  for (const path of [`/execution/${id}`, '/logs', '/executions']) {
    const body = await page(requester, path);
    expect([path, raw.exec(body)?.[0]]).toEqual([path, undefined]);
  }
});

it('a form that comes back has what was written in it, unchanged', async () => {
  const headers = { cookie: `belay=${requester}`, accept: 'text/html', 'sec-fetch-site': 'same-origin' };
  const query = new URLSearchParams({ reason: 'a \u200fmark', duration: 'nonsense' });
  const body = (await call('GET', `/role/reader?${query}`, { headers })).body;
  const area = /<textarea[^>]*name="reason"[^>]*>([^<]*)</.exec(body)?.[1] ?? '';
  expect([area.includes('\\u{200f}'), body.includes(people.requester.name)]).toEqual([false, true]);
});

it.each([true, false])('a log line shows them escaped as well (readable: %s)', (readable) => {
  const lines: string[] = [];
  const log = createLogger({ level: 'info', readable, write: (line) => void lines.push(line) });
  log.info({ reason: disguise, error: new Error(disguise) }, `asked: ${disguise}`);
  const [line = ''] = lines;
  expect([lines.length, raw.exec(line)?.[0], line.split('\n').length]).toEqual([1, undefined, 2]);
  if (!readable) expect(JSON.parse(line)).toMatchObject({ reason: disguise, msg: `asked: ${disguise}` });
});
