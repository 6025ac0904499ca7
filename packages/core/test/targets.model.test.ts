import type { Course, Sighting } from '@belay/providers';
import { expect, it } from 'vitest';
// The decision is not part of the package's interface.
import { type Doubt, doubts, judge, type Memory, nextMark } from '../src/catalog/judge.js';

/**
 * A small world: servers with one history each (timelines, a log, marks), which are copied, restored, promoted and written to; an address
 * that leads to one of them; and what Belay remembers. In any order of events, a call that is believed is answered by a
 * server that has the last change of its row, unless the copy was made after the last mark.
 */

interface Server {
  timeline: number;
  /** The position in the log, which rises also without Belay. */
  place: number;
  mark: string | null;
  /** For each row the number of its latest change that the server has. */
  rows: number[];
  standby: boolean;
  instance: number;
}

interface World {
  servers: Server[];
  address: number;
  memory: Memory | null;
  /** What Belay recorded of each row: its latest change, and the position at its read-back. */
  rows: { change: number; position: string | null }[];
  changes: number;
  marks: number;
}

const positionOf = ({ timeline, place }: Server) => `${timeline}/${place}`;

function compare(known: string, seen: string): Course {
  const [before = [], now = []] = [known, seen].map((position) => position.split('/').map(Number));
  const [line = 0, place = 0] = before;
  const [lineNow = 0, placeNow = 0] = now;
  if (lineNow !== line) return lineNow > line ? 'forked' : 'behind';
  return placeNow < place ? 'behind' : 'ahead';
}

const sightingOf = (server: Server): Sighting => ({
  target: 'target',
  unsettling: server.standby ? 'is a standby' : null,
  instance: String(server.instance),
  position: positionOf(server),
  mark: server.mark,
  otherMarks: [],
});

/** Returns a generator of numbers below `limit` (mulberry32). */
function randomFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) % limit;
  };
}

/** What may be taken out of the decision, so that the test finds the fault. */
interface Without {
  marks?: boolean;
  positions?: boolean;
  recovery?: boolean;
  lasting?: boolean;
  /** Every other server, so that the one there is has to be believed. */
  others?: boolean;
}

/**
 * Plays one history. Returns what was believed although the server lacks the row's last change, and how many forks and changes were
 * accepted.
 */
function play(seed: number, without: Without = {}) {
  const random = randomFrom(seed);
  const first: Server = {
    ...{ timeline: 1, place: 100, mark: null, rows: [0, 0, 0], standby: false, instance: 0 },
  };
  const world: World = {
    servers: [first],
    address: 0,
    memory: null,
    rows: first.rows.map(() => ({ change: 0, position: null })),
    changes: 0,
    marks: 0,
  };
  const faults: string[] = [];
  const landing: { server: Server; mark: string }[] = [];
  const land = () => {
    const one = landing.shift();
    if (one && !one.server.standby) Object.assign(one.server, { place: one.server.place + 1, mark: one.mark });
  };
  let forks = 0;
  const here = () => world.servers[world.address] as Server;

  const decide = (row: string | null) => {
    const seen = sightingOf(here());
    const memory = world.memory && { ...world.memory };
    if (without.recovery) seen.unsettling = null;
    if (without.lasting && memory) memory.doubt = null;
    if (without.marks) {
      seen.mark = null;
      if (memory) [memory.mark, memory.nextMark] = [null, null];
    }
    const course = without.positions ? () => 'ahead' as const : compare;
    return judge(course, seen, { memory, row, latest: null });
  };
  const doubt = (why: Doubt) => {
    const known = world.memory?.doubt;
    if (known && doubts[known as Doubt].lasts) return;
    if (world.memory) world.memory.doubt = why;
  };
  /** A fork with the mark is accepted: what changed since is called and read back there again. */
  const accept = () => {
    const server = here();
    if (!world.memory) return;
    world.memory.position = positionOf(server);
    for (const [index, row] of world.rows.entries()) server.rows[index] = row.change;
    forks += 1;
    renew(false);
  };
  /** Renews the mark: it is stored, written and confirmed. With `stops`, the process may stop before each of the last two. */
  const renew = (stops: boolean) => {
    const verdict = decide(null);
    if (verdict.is === 'doubted') return doubt(verdict.doubt);
    if (verdict.forked) return accept();
    const server = here();
    // Only without the question whether it is one, a standby is believed; nothing can be written there.
    if (server.standby) return;
    world.marks += 1;
    const before: Memory = world.memory ?? { position: null, mark: null, nextMark: null, doubt: null };
    const mark = before.nextMark !== null && server.mark === before.nextMark ? before.nextMark : before.mark;
    const next = nextMark(before, `random${world.marks}`, server.mark);
    world.memory = { ...before, position: positionOf(server), mark, nextMark: next, doubt: null };
    if (stops && random(6) === 0) return;
    // The commit waits for a standby that is away, and lands when Belay has long given up the call. Until then it locks the mark.
    if (landing.some((one) => one.server === server)) return;
    if (stops && random(6) === 0) return void landing.push({ server, mark: next });
    server.place += 1;
    server.mark = next;
    if (stops && random(6) === 0) return;
    world.memory = { ...world.memory, mark: next, nextMark: null };
  };

  const steps: (() => void)[] = [
    // A call: a row changes at the server, and its result is read back and recorded.
    () => {
      const index = random(world.rows.length);
      const row = world.rows[index];
      if (!row) return;
      const server = here();
      const verdict = decide(row.position);
      if (verdict.is === 'doubted') return doubt(verdict.doubt);
      if (verdict.forked) accept();
      // A server that lacks the last change would settle the row by what it has: the other server keeps the access.
      const copied = world.servers.some((one) => one !== server && one.rows[index] === row.change);
      if ((server.rows[index] ?? 0) < row.change && copied)
        faults.push(`row ${index} at change ${row.change}, the server has ${server.rows[index]}`);
      world.changes += 1;
      server.place += 1 + random(3);
      server.rows[index] = world.changes;
      Object.assign(row, { change: world.changes, position: positionOf(server) });
    },
    () => renew(true),
    land,
    // A copy: a snapshot that is started, or a standby that lags from here on.
    () => {
      const from = here();
      if (world.servers.length >= 4 || from.standby || decide(null).is === 'doubted') return;
      // Not covered either: it cannot be marked anew until that mark has landed.
      if (landing.some(({ server }) => server === from)) return;
      world.servers.push({
        ...from,
        rows: [...from.rows],
        standby: random(2) === 0,
        instance: world.servers.length,
      });
      // Not covered: a copy from after the last mark. So what is copied is marked anew before anything else happens.
      renew(false);
    },
    // A standby catches up. The mark and the changes that it has not received when it is promoted are lost.
    () => {
      const from = here();
      const standby = world.servers.find((one) => one.standby && one.timeline === from.timeline);
      if (standby && !from.standby)
        Object.assign(standby, { place: from.place, mark: from.mark, rows: [...from.rows] });
    },
    // Others write at a server, so that a copy reaches every position.
    () => {
      const server = world.servers[random(world.servers.length)];
      if (server && !server.standby) server.place += random(50);
    },
    // A standby is promoted.
    () => {
      const server = world.servers[random(world.servers.length)];
      if (!server?.standby) return;
      Object.assign(server, { standby: false, timeline: server.timeline + 1 });
    },
    // The address leads to another server.
    () => {
      world.address = random(world.servers.length);
    },
  ];
  const played = without.others ? steps.slice(0, 3) : steps;
  for (let step = 0; step < 60; step += 1) played[random(played.length)]?.();
  while (landing.length > 0) land();
  return { faults, forks, changes: world.changes, believed: decide(null).is === 'believed' };
}

const seeds = Array.from({ length: 4_000 }, (_, seed) => seed);
const faultsOf = (without?: Without) => seeds.flatMap((seed) => play(seed, without).faults);

it('believes no server that lacks the last change of a row, in any order of copies, promotions, writes and changes of the address', () => {
  const played = seeds.map((seed) => play(seed));
  expect(played.flatMap(({ faults }) => faults)).toEqual([]);
  // It is not a world in which nothing happens.
  for (const what of ['forks', 'changes'] as const)
    expect(played.reduce((sum, one) => sum + one[what], 0)).toBeGreaterThan(200);
});

it('finds the fault without the marks, without the positions, or without the question whether a server is a standby', () => {
  expect(faultsOf({ marks: true }).length).toBeGreaterThan(0);
  expect(faultsOf({ marks: true, positions: true }).length).toBeGreaterThan(0);
  expect(faultsOf({ recovery: true, marks: true }).length).toBeGreaterThan(0);
});

it('believes the only server there is, also when a mark lands after later ones were due', () => {
  expect(seeds.filter((seed) => !play(seed, { others: true }).believed)).toEqual([]);
});

it('lets a doubt that time would end last, because a copy reaches every position', () => {
  const memory: Memory = { position: '1/100', mark: null, nextMark: null, doubt: 'earlier' };
  const server: Server = {
    ...{ timeline: 1, place: 500, mark: null, rows: [], standby: false, instance: 1 },
  };
  expect(judge(compare, sightingOf(server), { memory, row: null, latest: null })).toEqual({
    is: 'doubted',
    doubt: 'earlier',
  });
});

it.each([
  ['a mark that was stored and not confirmed', { mark: '1.a', nextMark: '2.b' }, '2.b', { is: 'believed' }],
  ['the mark before it, which was not overwritten', { mark: '1.a', nextMark: '2.b' }, '1.a', { is: 'believed' }],
  ['an earlier mark', { mark: '3.c', nextMark: null }, '2.b', { is: 'doubted', doubt: 'mark_earlier' }],
  [
    'a mark of another database of Belay',
    { mark: '3.c', nextMark: null },
    '4.x',
    { is: 'doubted', doubt: 'mark_other' },
  ],
  ['no mark any more', { mark: '3.c', nextMark: null }, null, { is: 'doubted', doubt: 'mark_missing' }],
  ['a mark at a target of which nothing is remembered', null, '4.x', { is: 'doubted', doubt: 'mark_other' }],
])('decides about %s', (_, known, found, verdict) => {
  const memory = known && { position: null, doubt: null, ...known };
  const seen: Sighting = {
    ...{ target: 'target', unsettling: null, instance: '1', position: '1/1', mark: found, otherMarks: [] },
  };
  expect(judge(compare, seen, { memory, row: null, latest: null })).toMatchObject(verdict);
});
