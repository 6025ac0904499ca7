import type { Lane, Place } from '@belay/core';
import { describe, expect, it, vi } from 'vitest';
import { createLanes } from '../src/lanes.js';
import { recordLog } from './support/context.js';

const places = { executions: 3, provider: 2, grants: 1 };
const executions: Lane = { queue: 'executions' };
const at = (provider: string, task?: 'grant' | 'revoke'): Lane => ({
  queue: 'entitlements',
  provider,
  ...(task && { task }),
});

describe('the places of a worker', () => {
  it('keeps a full provider away from the places of the others and of executions', () => {
    const lanes = createLanes(recordLog(), places);
    expect([lanes.reserve(at('silent')), lanes.reserve(at('silent'))]).not.toContain(null);
    expect(lanes.reserve(at('silent'))).toBeNull();
    expect(lanes.reserve(at('other'))).not.toBeNull();
    expect([1, 2, 3].map(() => lanes.reserve(executions))).not.toContain(null);
    expect(lanes.reserve(executions)).toBeNull();
  });

  it('keeps a place for a revocation where grants wait', () => {
    const lanes = createLanes(recordLog(), places);
    expect(lanes.reserve(at('slow', 'grant'))).not.toBeNull();
    expect(lanes.reserve(at('slow', 'grant'))).toBeNull();
    expect(lanes.reserve(at('slow', 'revoke'))).not.toBeNull();
    expect(lanes.reserve(at('slow', 'revoke'))).toBeNull();
  });

  it('frees a place once, by its work or without any', async () => {
    const log = recordLog();
    const lanes = createLanes(log, { ...places, executions: 1 });
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
    expect(log.count('error', /work in a place failed/)).toBe(1);
    expect(lanes.reserve(executions)).not.toBeNull();
  });

  it('hands a place that becomes free to who waits longest and may have it', async () => {
    const lanes = createLanes(recordLog(), places);
    const grant = lanes.reserve(at('slow', 'grant')) as Place;
    const revoke = lanes.reserve(at('slow')) as Place;
    const order: string[] = [];
    const waiting = (['grant', 'revoke'] as const).map(async (task) => {
      const place = await lanes.enter(at('slow', task));
      order.push(task);
      return place;
    });
    revoke.release();
    const second = await waiting[1];
    expect(order).toEqual(['revoke']);
    grant.release();
    const first = await waiting[0];
    expect(order).toEqual(['revoke', 'grant']);
    for (const place of [first, second]) place?.release();
    expect(lanes.busy()).toBe(0);
  });

  it('gives nobody a place once it is closed, and tells when the last one is free', async () => {
    const lanes = createLanes(recordLog(), { ...places, executions: 1 });
    const held = lanes.reserve(executions) as Place;
    const waiting = lanes.enter(executions);
    lanes.close();
    expect(await waiting).toBeNull();
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
