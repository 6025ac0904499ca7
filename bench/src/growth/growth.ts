import {
  cancelExecution,
  createLogin,
  decideApproval,
  expireLogins,
  exportLogs,
  findDue,
  getExecution,
  getPerson,
  listAccess,
  listAllAccess,
  listAudit,
  listExecutions,
  listInbox,
  listLogs,
  listOverdue,
  listReviews,
  listSessions,
  readHealth,
  readMetrics,
  requestElevation,
  returnAccess,
  verifyLogin,
} from '@belay/core';
import { listenToApprovals, type Opened } from '../belay/approvals.js';
import { type Elevate, elevations } from '../belay/elevate.js';
import { type Belay, openBelay, type Person } from '../belay/open.js';
import { settled } from '../belay/settled.js';
import { openPostgres } from '../postgres.js';
import { spreadOf } from '../spread.js';
import { fill, vacuum } from './fill.js';

export interface Grown {
  verb: string;
  /** How many items the response has, the same in both databases; null for a verb that returns no list. */
  items: number | null;
  /** Medians, in milliseconds, in the database with few executions and in the one with many. */
  few: number;
  many: number;
  /** The median of the ratios of calls that were made in turns. */
  ratio: number;
}

interface Filled {
  belay: Belay;
  person: Person;
  /** The id of an execution that has ended. */
  id: string;
  /** Performs a complete elevation. */
  elevate: Elevate;
  opened: Opened;
}

/** How many entries of the ledger a page of the audit log searches at most. */
const searched = 10_000;
const people = 40;
const waiting = 7;
const active = 5;

/**
 * Measures every list and every verb beside few and beside many executions that have ended, in turns. The open requests are the same
 * in both: each of 39 people has seven requests that wait for approval, and access to one thing by five requests. Throws when a list
 * has another number of items in the two databases: only pages that are equally full can be compared.
 */
export async function measureGrowth(options: { few: number; many: number; rounds: number }): Promise<Grown[]> {
  const postgres = await openPostgres();
  const few = await openFilled(await postgres.database('few'), options.few);
  const many = await openFilled(await postgres.database('many'), options.many);
  const grown: Grown[] = [];
  for (const [verb, work] of Object.entries(verbs)) {
    const times: [number, number][] = [];
    let items: number | null = null;
    // The first calls do not count, because they plan statements and fill caches.
    for (let round = -3; round < options.rounds; round += 1) {
      const turn: [Filled, Filled] = round % 2 === 0 ? [few, many] : [many, few];
      const [one, other] = [await timed(() => work(turn[0])), await timed(() => work(turn[1]))];
      if (round >= 0)
        times.push(round % 2 === 0 ? [one.milliseconds, other.milliseconds] : [other.milliseconds, one.milliseconds]);
      items = itemsOf(one.result);
      if (items !== itemsOf(other.result)) {
        throw new Error(`${verb}: ${items} and ${itemsOf(other.result)} items; the pages must be equally full`);
      }
    }
    grown.push({
      verb,
      items,
      few: spreadOf(times.map(([time]) => time)).p50,
      many: spreadOf(times.map(([, time]) => time)).p50,
      ratio: spreadOf(times.map(([small, large]) => large / small)).p50,
    });
  }
  await few.belay.close();
  await many.belay.close();
  await postgres.stop();
  return grown;
}

async function openFilled(url: string, executions: number): Promise<Filled> {
  const belay = await openBelay(url, { people });
  const [person] = belay.people;
  if (!person) throw new Error('The benchmark needs people');
  const elevate = elevations(belay);
  const opened = listenToApprovals(belay);
  await elevate(person, 'approve');
  const id = await newest(person);
  await elevate(person, 'hold');
  const held = await newest(person);
  await settled(belay);
  await fill(url, { like: [id, held], owner: person.actor.id, executions });
  for (const one of belay.people.slice(1)) {
    for (let count = 0; count < waiting; count += 1) await request(one, 'approve');
    for (let count = 0; count < active; count += 1) await request(one, 'grant');
  }
  await settled(belay);
  await vacuum(url);
  const [row] = await belay.observer`select count(*)::int as entries from ledger`;
  if (Number(row?.entries) < searched) {
    throw new Error(
      `The ledger has ${row?.entries} entries; a search of the audit log must find ${searched} in both databases`,
    );
  }
  return { belay, person, id, elevate, opened };
}

async function request(person: Person, workflow: string): Promise<string> {
  const { output } = await requestElevation(person, {
    role: 'reader',
    workflow,
    reason: 'a benchmark',
    duration: 'PT8H',
  });
  return output.execution_id;
}

/** Requests, waits until approvers can decide, and approves. */
async function approve({ belay, opened }: Pick<Filled, 'belay' | 'opened'>, person: Person): Promise<string> {
  const id = await request(person, 'approve');
  await opened(id);
  await decideApproval(belay.approver, { id, verdict: 'approve', via: 'api' });
  return id;
}

/** Ends a request: cancels its workflow, or gives back the access that outlives the workflow. */
async function giveUp(person: Person, id: string): Promise<void> {
  await cancelExecution(person, { id }).catch(() => returnAccess(person, { execution_id: id }));
}

async function newest(person: Person): Promise<string> {
  const { logs } = await listLogs(person, { type: 'elevation.requested', limit: 1 });
  return logs[0]?.workflow_id ?? '';
}

const verbs: Readonly<Record<string, (filled: Filled) => Promise<unknown>>> = {
  'GET /health': ({ belay }) => readHealth(belay.ctx, { path: '/health', scheduler: async () => 'healthy' }),
  'GET /metrics': ({ belay }) => readMetrics(belay.ctx, { uptimeMilliseconds: 1, requests: 1 }),
  'the inbox, a page of 50': ({ belay }) => listInbox(belay.approver, { limit: 50 }),
  'requests: open': ({ belay, person }) => listExecutions(belay.people[1] ?? person, { status: 'open', limit: 25 }),
  'requests: active': ({ belay, person }) => listExecutions(belay.people[1] ?? person, { status: 'active', limit: 25 }),
  'requests: past': ({ person }) => listExecutions(person, { status: 'past', limit: 25 }),
  'requests: words that none has': ({ person }) => listExecutions(person, { status: 'past', q: 'none has this' }),
  'requests: decided by me': ({ belay }) => listExecutions(belay.approver, { decided_by: 'me', limit: 25 }),
  'requests: of a person, to an auditor': ({ belay }) =>
    listExecutions(belay.auditor, { status: 'all', person: 'person1@example.com', limit: 25 }),
  'the audit log': ({ belay }) => listAudit(belay.auditor, { limit: 50 }),
  'the audit log of a type': ({ belay }) => listAudit(belay.auditor, { type: 'approval.decided', limit: 50 }),
  'the audit log of a type that none has': ({ belay }) => listAudit(belay.auditor, { type: 'user.stopped', limit: 50 }),
  'the audit log of a person': ({ belay }) => listAudit(belay.auditor, { user: 'person1@example.com', limit: 50 }),
  'the audit log of a request': ({ belay, id }) => listAudit(belay.auditor, { execution_id: id }),
  'access now': ({ belay }) => listAllAccess(belay.auditor, {}),
  'a person': ({ belay }) => getPerson(belay.auditor, { user: 'person1@example.com' }),
  'overdue revocations': ({ belay }) => listOverdue(belay.auditor, {}),
  'reviews: open': ({ belay }) => listReviews(belay.approver, { limit: 25 }),
  'reviews: whether one waits': ({ person }) => listReviews(person, { limit: 1 }),
  'reviews: closed': ({ belay }) => listReviews(belay.auditor, { status: 'closed', limit: 25 }),
  'reviews of a request': ({ belay, id }) => listReviews(belay.auditor, { execution_id: id }),
  'running executions': ({ belay, person }) => listExecutions(belay.people[1] ?? person),
  'one execution': ({ person, id }) => getExecution(person, { id }),
  'held access': ({ belay, person }) => listAccess(belay.people[1] ?? person),
  logs: ({ person }) => listLogs(person, {}),
  'logs of one execution': ({ person, id }) => listLogs(person, { workflow_id: id }),
  'logs of a level': ({ person }) => listLogs(person, { level: 'warning' }),
  'logs of a person': ({ belay }) => listLogs(belay.approver, { user: 'person0@example.com' }),
  'a page of the export': ({ person }) => exportLogs(person, {}),
  sessions: ({ person }) => listSessions(person),
  'a login': async ({ belay }) => verifyLogin(belay.ctx, { token: belay.token }),
  'a new login': ({ belay, person }) => createLogin(belay.ctx, { user: person.actor, kind: 'browser' }),
  'expiring logins': ({ belay }) => expireLogins(belay.ctx),
  'a sweep': ({ belay }) => findDue(belay.ctx),
  'a request and its cancellation': async ({ person }) =>
    cancelExecution(person, { id: await request(person, 'approve') }),
  'a request and its approval': async (filled) => {
    await giveUp(filled.person, await approve(filled, filled.person));
  },
  'a complete elevation, `grant`': ({ elevate, person }) => elevate(person, 'grant'),
  'a complete elevation, `validate`': ({ elevate, person }) => elevate(person, 'validate'),
  'a complete elevation, `approve`': ({ elevate, person }) => elevate(person, 'approve'),
};

async function timed(work: () => Promise<unknown>): Promise<{ milliseconds: number; result: unknown }> {
  const start = performance.now();
  const result = await work();
  return { milliseconds: performance.now() - start, result };
}

/** Returns how many items the lists of a response have together; null without a list. */
function itemsOf(result: unknown): number | null {
  if (typeof result !== 'object' || result === null) return null;
  const lists = (Array.isArray(result) ? [result] : Object.values(result)).filter((part) => Array.isArray(part));
  return lists.length === 0 ? null : lists.reduce((sum, list) => sum + list.length, 0);
}
