import type { Bulkhead, Place } from '@belay/core';
import { describe, expect, it, vi } from 'vitest';
import { type Bulkheads, createBulkheads, defaultPlaces, type Places } from '../src/bulkheads.js';
import { type RecordedLog, recordLog, testContext } from './support/context.js';

const places: Places = { executions: 3, provider: 2, grants: 1, calls: 1 };
const executions: Bulkhead = { queue: 'executions' };
const at = (provider: string, task?: 'grant' | 'revoke'): Bulkhead => ({
  queue: 'entitlements',
  provider,
  ...(task && { task }),
});

const calls = (...systems: string[]): Bulkhead => ({ queue: 'calls', systems });

function open(
  more: { log?: RecordedLog; places?: Places; onRoom?(bulkhead: Bulkhead): void; patience?: number } = {},
): Bulkheads {
  const log = more.log ?? recordLog();
  const { clock, delay } = testContext(log);
  return createBulkheads({ places, patience: 60_000, log, clock, delay, onRoom: () => {}, ...more });
}

describe('the places of a worker', () => {
  it('keeps a full provider away from the places of the others and of executions', () => {
    const bulkheads = open();
    expect([bulkheads.reserve(at('silent')), bulkheads.reserve(at('silent'))]).not.toContain(null);
    expect(bulkheads.reserve(at('silent'))).toBeNull();
    expect(bulkheads.reserve(at('other'))).not.toBeNull();
    expect([1, 2, 3].map(() => bulkheads.reserve(executions))).not.toContain(null);
    expect(bulkheads.reserve(executions)).toBeNull();
  });

  it('are 64 for steps, and for each system 32, of which grants have 24, and 16 for queries, unless it is set otherwise', () => {
    const bulkheads = open({ places: defaultPlaces });
    const fill = (bulkhead: Bulkhead) => {
      let taken = 0;
      while (bulkheads.reserve(bulkhead)) taken += 1;
      return taken;
    };
    expect(fill(executions)).toBe(64);
    for (const system of ['one', 'other']) {
      expect([fill(at(system, 'grant')), fill(at(system, 'revoke')), fill(calls(system))]).toEqual([24, 8, 16]);
    }
  });

  it('reserves a place for a revocation where grants wait', () => {
    const bulkheads = open();
    expect(bulkheads.reserve(at('slow', 'grant'))).not.toBeNull();
    expect(bulkheads.reserve(at('slow', 'grant'))).toBeNull();
    expect(bulkheads.reserve(at('slow', 'revoke'))).not.toBeNull();
    expect(bulkheads.reserve(at('slow', 'revoke'))).toBeNull();
  });

  it('frees a place once, with or without work', async () => {
    const log = recordLog();
    const bulkheads = open({ log, places: { ...places, executions: 1 } });
    const released = bulkheads.reserve(executions) as Place;
    released.release();
    released.release();
    released.run(() => Promise.reject(new Error('must not run')));
    const used = bulkheads.reserve(executions) as Place;
    let finish = () => {};
    used.run(() => new Promise((resolve) => void (finish = resolve)));
    used.release();
    expect(bulkheads.reserve(executions)).toBeNull();
    await vi.waitFor(
      () => {
        finish();
        expect(bulkheads.busy()).toBe(0);
      },
      { timeout: 30_000 },
    );
    expect(log.lines).toEqual([]);
    const failing = bulkheads.reserve(executions) as Place;
    failing.run(() => Promise.reject(new Error('no connection')));
    await bulkheads.empty();
    expect(log.count('error', /work for a provider failed/)).toBe(1);
    expect(bulkheads.reserve(executions)).not.toBeNull();
  });

  it('gives the place of a returned call to others, and waits for the rest of its work', async () => {
    const bulkheads = open();
    const place = bulkheads.reserve(at('slow', 'grant')) as Place;
    let recorded = () => {};
    place.run(() => new Promise((resolve) => void (recorded = resolve)));
    expect(bulkheads.reserve(at('slow', 'grant'))).toBeNull();
    place.vacate?.();
    place.vacate?.();
    const next = bulkheads.reserve(at('slow', 'grant')) as Place;
    expect([next === null, bulkheads.room(at('slow')), bulkheads.busy()]).toEqual([false, 1, 2]);
    next.release();
    await vi.waitFor(
      () => {
        recorded();
        expect(bulkheads.busy()).toBe(0);
      },
      { timeout: 30_000 },
    );
    place.vacate?.();
    expect([bulkheads.room(at('slow')), bulkheads.busy()]).toEqual([2, 0]);
  });

  it('notifies once when a place is free again', async () => {
    const told: Bulkhead[] = [];
    const bulkheads = open({ onRoom: (bulkhead) => told.push(bulkhead) });
    const grant = bulkheads.reserve(at('slow', 'grant')) as Place;
    const revoke = bulkheads.reserve(at('slow')) as Place;
    expect(bulkheads.room(at('slow', 'grant'))).toBe(0);
    revoke.release();
    // A place is free again, but not for a grant.
    expect(told).toEqual([]);
    grant.release();
    expect(told).toEqual([at('slow', 'grant')]);
    (bulkheads.reserve(at('slow', 'grant')) as Place).release();
    expect(told).toHaveLength(1);
  });

  it('makes moved work wait for its own system only, and start in order', async () => {
    const bulkheads = open();
    const order: string[] = [];
    const begin = (name: string, bulkhead: Bulkhead) =>
      new Promise<() => void>((begun) => {
        bulkheads.hand(bulkhead, (inTime) => {
          order.push(`${name} ${inTime}`);
          return new Promise((finish) => begun(finish));
        });
      });
    const first = await begin('first', calls('silent'));
    const second = begin('second', calls('silent', 'other'));
    const third = begin('third', calls('silent'));
    const other = await begin('other', calls('other'));
    expect(order).toEqual(['first true', 'other true']);
    first();
    const finishThird = await third;
    expect(order).toEqual(['first true', 'other true', 'third true']);
    other();
    finishThird();
    (await second)();
    await bulkheads.empty();
    expect(order.at(-1)).toBe('second true');
  });

  it('starts moved work without a place when none is free in time, or the worker stops', async () => {
    const bulkheads = open({ patience: 1 });
    const held = bulkheads.reserve(calls('silent')) as Place;
    const late = await new Promise((resolve) => bulkheads.hand(calls('silent'), async (inTime) => resolve(inTime)));
    expect(late).toBe(false);
    const patient = open();
    expect(patient.reserve(calls('silent'))).not.toBeNull();
    const stopped = new Promise((resolve) => patient.hand(calls('silent'), async (inTime) => resolve(inTime)));
    patient.close();
    expect(await stopped).toBe(false);
    held.release();
    await bulkheads.empty();
  });

  it('assigns no place after it is closed, and notifies when the last one is free', async () => {
    const bulkheads = open({ places: { ...places, executions: 1 } });
    const held = bulkheads.reserve(executions) as Place;
    bulkheads.close();
    expect(bulkheads.reserve(at('other'))).toBeNull();
    let empty = false;
    const emptied = bulkheads.empty().then(() => {
      empty = true;
    });
    expect(empty).toBe(false);
    held.release();
    await emptied;
  });
});
