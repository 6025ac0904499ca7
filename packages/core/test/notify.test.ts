import { cancelExecution, getExecution, readMetrics } from '@belay/core';
import { performStep } from '@belay/engine';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ask,
  beginOnly,
  type Cast,
  catalogWith,
  day,
  hour,
  minute,
  openCast,
  request,
  statusOf,
} from './support/stories.js';

describe('access.notify', () => {
  let cast: Cast;
  beforeAll(async () => {
    const tell = { call: 'access.notify', with: { provider: 'memory', to: 'ada', title: 'News', message: 'hello' } };
    cast = await openCast({ catalog: catalogWith({ told: [{ tell }] }) });
  });
  afterAll(() => cast[Symbol.asyncDispose]());

  let before = 0;
  beforeEach(() => {
    before = cast.house.provider.messages.length;
  });
  const told = () => cast.house.provider.messages.slice(before);
  const undelivered = async () =>
    (await readMetrics(cast.house.ctx, { uptimeMilliseconds: 1, requests: 1 })).undelivered_messages;
  /** Makes the channel fail for so many attempts. */
  const fail = (times: number) => {
    while (cast.house.provider.take({ operation: 'deliver' })) continue;
    cast.house.provider.inject('deliver', { kind: 'throttle' }, times);
  };

  it('is done when its message is delivered, in the words of the workflow', async () => {
    const id = await ask(cast.house, cast.ada, { workflow: 'told' });
    expect(await statusOf(cast.ada, id)).toBe('completed');
    expect(told()).toMatchObject([{ to: 'ada', title: 'News', text: 'hello', actions: [] }]);
  });

  it('delivers its message when the execution is cancelled meanwhile', async () => {
    fail(1);
    const id = await ask(cast.house, cast.ada, { workflow: 'told' });
    await cancelExecution(cast.ada, { id });
    await cast.house.pass(minute);
    expect(await statusOf(cast.ada, id)).toBe('cancelled');
    expect(told()).toHaveLength(1);
  });

  it('delivers its message when the process ends between its step and the delivery', async () => {
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'told' });
    await beginOnly(house, id);
    const crashpoint = (name: string) => {
      if (name === 'message queued') throw new Error('The process ends');
    };
    await performStep({ ...house.ctx, crashpoint }, { executionId: id, key: '/do/0/tell#0' });
    await cancelExecution(ada, { id }).catch(() => undefined);
    expect(told()).toEqual([]);
    await house.pass(minute);
    expect(told()).toHaveLength(1);
  });

  it('delivers nothing twice when its answer is lost', async () => {
    const { house, ada } = cast;
    const delivered = house.provider.count('deliver');
    house.provider.inject('deliver', { kind: 'lost-answer' });
    const id = await ask(house, ada, { workflow: 'told' });
    await house.pass(minute);
    await house.pass(minute);
    expect(await statusOf(ada, id)).toBe('completed');
    expect([told().length, house.provider.count('deliver') - delivered]).toEqual([1, 1]);
  });

  it('faults after a few attempts, and its message is delivered as soon as the channel is back', async () => {
    const { house, ada } = cast;
    fail(8);
    const id = await ask(house, ada, { workflow: 'told' });
    for (let later = 0; later < 20; later += 1) await house.pass(minute);
    expect((await getExecution(ada, { id })).error).toMatchObject({ detail: 'The provider asks for patience' });
    for (let later = 0; later < 20; later += 1) await house.pass(5 * minute);
    expect(told()).toHaveLength(1);
    expect(await undelivered()).toBe(0);
  });

  it('faults at once when the provider rejects its message, which operators see', async () => {
    const { house, ada } = cast;
    house.provider.inject('deliver', { kind: 'refuse' });
    const id = await ask(house, ada, { workflow: 'told' });
    expect(await statusOf(ada, id)).toBe('faulted');
    expect(await undelivered()).toBe(1);
    const [entry] = await house.database
      .sql`select data from ledger where type = 'message.failed' and execution_id = ${id}`;
    expect(entry?.data).toEqual({ step: '/do/0/tell#0' });
    await house.pass(day + hour);
  });

  it('gives a message up after a day, which operators see', async () => {
    const { house, ada } = cast;
    fail(1_000);
    await ask(house, ada, { workflow: 'told' });
    for (let later = 0; later < 26; later += 1) await house.pass(hour);
    expect(await undelivered()).toBe(1);
    const tried = house.provider.count('deliver');
    await house.pass(hour);
    expect([house.provider.count('deliver') - tried, told()]).toEqual([0, []]);
  });
});
