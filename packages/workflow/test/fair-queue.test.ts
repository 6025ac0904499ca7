import { describe, expect, it } from 'vitest';
import { createFairQueue } from '../src/expression/fair-queue.js';

/** How far an owner that was idle may be ahead of busy ones. */
const credit = 250;

/** Returns a queue whose items are their own expected costs. */
const queueOf = () => createFairQueue<number>(credit, (expected) => expected);

/** Serves `many` items at the cost that `cost` returns for their owners, and returns the owners in order. */
function serve(queue: ReturnType<typeof queueOf>, many: number, cost: (owner: string) => number): string[] {
  return Array.from({ length: many }, () => {
    const { owner = '' } = queue.next() ?? {};
    queue.charge(owner, cost(owner));
    return owner;
  });
}

describe('the queue of expressions', () => {
  it('serves the owner that has had least, by what its items have cost and not by how many they were', () => {
    const queue = queueOf();
    for (let item = 0; item < 40; item += 1) for (const owner of ['costly', 'cheap']) queue.add(owner, 0);
    const served = serve(queue, 22, (owner) => (owner === 'costly' ? 100 : 10));
    // Twenty cheap items cost as much as two costly ones.
    expect(served.filter((owner) => owner === 'costly')).toHaveLength(2);
  });

  it('takes turns between owners whose items cost the same', () => {
    const queue = queueOf();
    for (const owner of ['one', 'two', 'three']) for (let item = 0; item < 3; item += 1) queue.add(owner, 0);
    const served = serve(queue, 9, () => 10);
    for (const round of [served.slice(0, 3), served.slice(3, 6), served.slice(6)])
      expect(round.toSorted()).toEqual(['one', 'three', 'two']);
  });

  it('serves an owner that was idle before busy ones, and no longer than its credit lasts', () => {
    const queue = queueOf();
    const fill = (owner: string) => {
      for (let item = 0; item < 100; item += 1) queue.add(owner, 0);
    };
    queue.add('early', 0);
    serve(queue, 1, () => 0);
    fill('busy');
    serve(queue, 50, () => 100);
    // Neither an idle nor a new owner is ahead of the busy owner by more than the credit.
    for (const owner of ['early', 'newcomer']) fill(owner);
    const served = serve(queue, 30, () => 50);
    for (const owner of ['early', 'newcomer']) {
      const first = served.indexOf('busy');
      expect(served.slice(0, first).filter((one) => one === owner).length).toBeGreaterThanOrEqual(credit / 50);
      expect(served.slice(0, first).filter((one) => one === owner).length).toBeLessThanOrEqual(credit / 50 + 2);
    }
    expect(new Set(served.slice(-3))).toEqual(new Set(['early', 'newcomer', 'busy']));
  });

  it('serves, of several newcomers, those with the smallest items first', () => {
    const queue = queueOf();
    queue.add('large', 200);
    queue.add('small', 1);
    queue.add('middle', 20);
    expect(serve(queue, 3, () => 1)).toEqual(['small', 'middle', 'large']);
  });

  it('charges an item only once it is done, and keeps its owner until then, however many others come', () => {
    const queue = queueOf();
    queue.add('working', 0);
    expect(queue.next()?.owner).toBe('working');
    for (let n = 0; n < 1_200; n += 1) queue.add(`passer ${n}`, 0);
    queue.charge('working', 10_000);
    while (queue.size > 0) serve(queue, 1, () => 1);
    for (const owner of ['working', 'other']) queue.add(owner, 0);
    expect(serve(queue, 2, () => 0)).toEqual(['other', 'working']);
  });
});
