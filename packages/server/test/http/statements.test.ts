import { serverRouter } from '@belay/api';
import { type Context, createLogin, openChanges } from '@belay/core';
import { openDatabase } from '@belay/db';
import { approvalCatalog, createHouse, type House, workflowOf } from '@belay/testkit/house';
import { type Served, send, serve } from '@belay/testkit/serve';
import { workHere } from '@belay/testkit/work-here';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** The most statements of an elevation with all its calls: check, approve, grant, give back. */
const mostStatements = 40;

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

describe('an elevation over HTTP', () => {
  let house: House;
  let server: Served;
  let heard: string[];
  let rest: () => Promise<void>;
  let close: () => Promise<void>;
  let tokens: { ada: string; grace: string };

  beforeEach(async () => {
    const tasks = [
      { validate: { call: 'access.validate' } },
      { approve: { call: 'access.approve', with: { stages: [{ approvers: { groups: ['approvers'] } }] } } },
      { decide: { switch: [{ refused: { when: '.approved == false', then: 'end' } }] } },
      { grant: { call: 'access.grant' } },
    ];
    const catalog = approvalCatalog({ role: { workflows: ['shipped'] } }) as { workflows: object };
    const workflows = { ...catalog.workflows, shipped: { description: 'x', workflow: workflowOf('shipped', tasks) } };
    house = await createHouse({ time: null, catalog: { ...catalog, workflows } });
    heard = [];
    const counted = openDatabase(house.database.url, { max: 20, onStatement: (_, text) => void heard.push(text) });
    const changes = openChanges({ databaseUrl: house.database.url, log: quiet, delay: house.ctx.delay });
    // Long pauses, so that a slow machine does not poll for what it is notified of.
    const delay: Context['delay'] = (milliseconds, signal) => house.ctx.delay(4 * milliseconds, signal);
    const worker = workHere<Context>({ ...house.ctx, db: counted.db, changes, delay });
    rest = worker.rest;
    server = await serve({ context: worker.ctx, router: serverRouter });
    close = async () => {
      await server[Symbol.asyncDispose]();
      await rest();
      await changes.close();
      await counted.close();
    };
    const signIn = async (name: string, groups: string[]) => {
      const { actor } = await house.person(name, groups);
      return (await createLogin(house.ctx, { user: actor, kind: 'device' })).token;
    };
    tokens = { ada: await signIn('ada', ['engineers']), grace: await signIn('grace', ['approvers']) };
  });
  afterEach(async () => {
    await close();
    await house[Symbol.asyncDispose]();
  });

  const call = async (who: 'ada' | 'grace', path: string, body?: object) => {
    const answer = await send(`${server.url}/api/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${tokens[who]}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBeLessThan(300);
    return JSON.parse(answer.body) as { output: { execution_id: string }; state: string; status: string };
  };
  const request = async () => {
    const { output } = await call('ada', '/elevate', { role: 'reader', reason: 'a ticket', workflow: 'shipped' });
    return output.execution_id;
  };
  const count = (pattern: RegExp, from: number) => heard.slice(from).filter((text) => pattern.test(text)).length;

  it('takes one statement for each login, and reads the whole execution twice for each call that waits, at most', async () => {
    const elevate = async () => {
      const id = await request();
      expect((await call('ada', `/execution/${id}?until=approval`)).state).toBe('waiting_for_approval');
      await call('grace', `/approvals/${id}/decision`, { verdict: 'approve' });
      expect((await call('ada', `/execution/${id}?until=active`)).state).toBe('active');
      await call('ada', `/access/${id}/return`, {});
      expect((await call('ada', `/execution/${id}?until=ended`)).state).toBe('ended');
      await rest();
    };
    // The first elevation stores the definition.
    await elevate();
    const from = heard.length;
    await elevate();
    const read = {
      logins: count(/from "logins" login/, from),
      whole: count(/as happened/, from),
      states: count(/^select e\.id,\s+e\.status/, from),
      marks: count(/marked as/, from),
    };
    expect(read.logins).toBe(6);
    expect(read.marks).toBeLessThanOrEqual(1);
    expect(read.whole).toBeLessThanOrEqual(6);
    expect(read.states).toBeLessThanOrEqual(8);
    expect(heard.length - from).toBeLessThanOrEqual(mostStatements);
  });

  it('sends only texts that were sent before, for a call that waits', async () => {
    const wait = async () => {
      const id = await request();
      const waiting = call('ada', `/execution/${id}?until=approval`);
      await call('ada', `/execution/${id}/comments`, { text: 'soon' });
      expect((await waiting).state).toBe('waiting_for_approval');
      await rest();
    };
    for (let time = 0; time < 2; time += 1) await wait();
    const known = new Set(heard);
    await wait();
    expect(heard.filter((text) => !known.has(text))).toEqual([]);
  });

  it('is completed before its access ends, and a call can wait for that', async () => {
    const id = await request();
    await call('ada', `/execution/${id}?until=approval`);
    const completed = call('ada', `/execution/${id}?until=completed`);
    await call('grace', `/approvals/${id}/decision`, { verdict: 'approve' });
    expect(await completed).toMatchObject({ status: 'completed', state: 'active' });
  });
});
