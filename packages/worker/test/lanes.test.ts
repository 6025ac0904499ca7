import type { Lane, Place } from '@belay/core';
import { describe, expect, it, vi } from 'vitest';
import { createLanes, type Lanes, type Places } from '../src/lanes.js';
import { type RecordedLog, recordLog, testContext } from './support/context.js';

const places: Places = { executions: 3, provider: 2, grants: 1, calls: 1 };
const executions: Lane = { queue: 'executions' };
const at = (provider: string, task?: 'grant' | 'revoke'): Lane => ({
  queue: 'entitlements',
  provider,
  ...(task && { task }),
});

const calls = (...systems: string[]): Lane => ({ queue: 'calls', systems });

function open(more: { log?: RecordedLog; places?: Places; onRoom?(lane: Lane): void; patience?: number } = {}): Lanes {
  const log = more.log ?? recordLog();
  const { delay } = testContext(log);
  return createLanes({ places, patience: 60_000, log, delay, onRoom: () => {}, ...more });
}

describe('the places of a worker', () => {
  it('keeps a full provider away from the places of the others and of executions', () => {
    const lanes = open();
    expect([lanes.reserve(at('silent')), lanes.reserve(at('silent'))]).not.toContain(null);
    expect(lanes.reserve(at('silent'))).toBeNull();
    expect(lanes.reserve(at('other'))).not.toBeNull();
    expect([1, 2, 3].map(() => lanes.reserve(executions))).not.toContain(null);
    expect(lanes.reserve(executions)).toBeNull();
  });

  it('reserves a place for a revocation where grants wait', () => {
    const lanes = open();
    expect(lanes.reserve(at('slow', 'grant'))).not.toBeNull();
    expect(lanes.reserve(at('slow', 'grant'))).toBeNull();
    expect(lanes.reserve(at('slow', 'revoke'))).not.toBeNull();
    expect(lanes.reserve(at('slow', 'revoke'))).toBeNull();
  });

  it('frees a place once, with or without work', async () => {
    const log = recordLog();
    const lanes = open({ log, places: { ...places, executions: 1 } });
    const released = lanes.reserve(executions) as Place;
    released.release();
    released.release();
    released.run(() => Promise.reject(new Error('must not run')));
    const used = lanes.reserve(executions) as Place;
    let finish = () => {};
    used.run(() => new Promise((resolve) => void (finish = resolve)));
    used.release();
    expect(lanes.reserve(executions)).toBeNull();
    await vi.waitFor(() => {
      finish();
      expect(lanes.busy()).toBe(0);
    });
    expect(log.lines).toEqual([]);
    const failing = lanes.reserve(executions) as Place;
    failing.run(() => Promise.reject(new Error('no connection')));
    await lanes.empty();
    expect(log.count('error', /work for a provider failed/)).toBe(1);
    expect(lanes.reserve(executions)).not.toBeNull();
  });

  it('gives the place of a returned call to others, and waits for the rest of its work', async () => {
    const lanes = open();
    const place = lanes.reserve(at('slow', 'grant')) as Place;
    let recorded = () => {};
    place.run(() => new Promise((resolve) => void (recorded = resolve)));
    expect(lanes.reserve(at('slow', 'grant'))).toBeNull();
    place.vacate?.();
    place.vacate?.();
    const next = lanes.reserve(at('slow', 'grant')) as Place;
    expect([next === null, lanes.room(at('slow')), lanes.busy()]).toEqual([false, 1, 2]);
    next.release();
    await vi.waitFor(() => {
      recorded();
      expect(lanes.busy()).toBe(0);
    });
    place.vacate?.();
    expect([lanes.room(at('slow')), lanes.busy()]).toEqual([2, 0]);
  });

  it('notifies once when a place is free again', async () => {
    const told: Lane[] = [];
    const lanes = open({ onRoom: (lane) => told.push(lane) });
    const grant = lanes.reserve(at('slow', 'grant')) as Place;
    const revoke = lanes.reserve(at('slow')) as Place;
    expect(lanes.room(at('slow', 'grant'))).toBe(0);
    revoke.release();
    // There is a place again, but not for a grant.
    expect(told).toEqual([]);
    grant.release();
    expect(told).toEqual([at('slow', 'grant')]);
    (lanes.reserve(at('slow', 'grant')) as Place).release();
    expect(told).toHaveLength(1);
  });

  it('makes moved work wait for its own system only, and start in order', async () => {
    const lanes = open();
    const order: string[] = [];
    const begin = (name: string, lane: Lane) =>
      new Promise<() => void>((begun) => {
        lanes.hand(lane, (inTime) => {
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
    await lanes.empty();
    expect(order.at(-1)).toBe('second true');
  });

  it('starts moved work without a place when none is free in time, or the worker stops', async () => {
    const lanes = open({ patience: 1 });
    const held = lanes.reserve(calls('silent')) as Place;
    const late = await new Promise((resolve) => lanes.hand(calls('silent'), async (inTime) => resolve(inTime)));
    expect(late).toBe(false);
    const patient = open();
    expect(patient.reserve(calls('silent'))).not.toBeNull();
    const stopped = new Promise((resolve) => patient.hand(calls('silent'), async (inTime) => resolve(inTime)));
    patient.close();
    expect(await stopped).toBe(false);
    held.release();
    await lanes.empty();
  });

  it('assigns no place after it is closed, and notifies when the last one is free', async () => {
    const lanes = open({ places: { ...places, executions: 1 } });
    const held = lanes.reserve(executions) as Place;
    lanes.close();
    expect(lanes.reserve(at('other'))).toBeNull();
    let empty = false;
    const emptied = lanes.empty().then(() => {
      empty = true;
    });
    expect(empty).toBe(false);
    held.release();
    await emptied;
  });
});
