import { cancelExecution, closeReview, getExecution, listReviews } from '@belay/core';
import { performStep } from '@belay/engine';
import { afterEach, describe, expect, it } from 'vitest';
import { gateOf } from './support/gate.js';
import {
  access,
  ask,
  beginOnly,
  type Cast,
  catalogWith,
  hour,
  minute,
  openCast,
  type Person,
  request,
} from './support/stories.js';

/** Attacks: ways to use a role for emergencies without the notice that it requires. */

const watched = (tell: object, review?: object) => ({
  ...catalogWith({}, { break_glass: { tell, ...(review && { review }) } }),
  messages: { channels: ['memory'], kinds: ['break_glass.used', ...(review ? ['review.opened'] : [])] },
});

describe('the use of a role for emergencies', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const told = () => (cast as Cast).house.provider.messages.map(({ to }) => to);
  const titles = () => (cast as Cast).house.provider.messages.map(({ title }) => title);
  const holds = () => (cast as Cast).house.provider.holds('ada@example.com', access);
  /** Makes a request whose access is held at the provider, while its worker has not received the response yet. */
  async function grantedAndNotRecorded(person: Person) {
    const { house } = cast as Cast;
    const id = await request(person, { workflow: 'automatic', duration: 'PT30M' });
    await beginOnly(house, id);
    const [step] = await house.database.sql`select key from steps where execution_id = ${id} and status = 'open'`;
    const gate = gateOf(house, 'ensurePresent', 'after');
    const done = performStep(gate.ctx, { executionId: id, key: step?.key as string });
    await gate.reached;
    return { id, done, goOn: gate.open };
  }

  it('is told to the first of a group whom Belay knows, when it knew none of them', async () => {
    cast = await openCast({ catalog: watched({ groups: ['watch'] }) });
    const { house, ada } = cast;
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.pass(2 * hour);
    expect(told()).toEqual([]);
    await house.person('walt', ['watch']);
    await house.pass(minute);
    expect(told()).toEqual(['walt@example.com']);
    await house.pass(hour);
    expect(told()).toHaveLength(1);
  });

  it('is told to another member when the requester was the only one whom Belay knew, also by another identity', async () => {
    cast = await openCast({ catalog: watched({ groups: ['watch'] }) });
    const { house } = cast;
    const ada = await house.person('ada', ['engineers', 'watch']);
    const again = await house.person('ada-again', ['watch']);
    await house.database
      .sql`update user_identities set email_folded = ${ada.actor.email} where user_id = ${again.actor.id}`;
    await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await house.pass(2 * hour);
    expect(told()).not.toContain('walt@example.com');
    await house.person('walt', ['watch']);
    await house.pass(minute);
    expect(told()).toContain('walt@example.com');
    await house.pass(hour);
    expect(told().filter((to) => to === 'walt@example.com')).toHaveLength(1);
  });

  it('is told when the provider holds the access and cannot say so', async () => {
    cast = await openCast({ catalog: watched({ users: ['wilma@example.com'] }) });
    const { house, ada } = cast;
    const granted = await grantedAndNotRecorded(ada);
    house.provider.inject('holds', { kind: 'unknown' }, 1_000);
    granted.goOn();
    await granted.done;
    await house.pass(minute);
    expect([holds(), (await getExecution(ada, { id: granted.id })).state]).toEqual([true, 'granting']);
    expect(titles()).toEqual(['Emergency access: ada may have used reader']);
  });

  it('is told when the request is cancelled before the access is seen there', async () => {
    cast = await openCast({ catalog: watched({ users: ['wilma@example.com'] }) });
    const { house, ada } = cast;
    const granted = await grantedAndNotRecorded(ada);
    expect(holds()).toBe(true);
    await cancelExecution(ada, { id: granted.id });
    granted.goOn();
    await granted.done;
    await house.pass(minute);
    expect([holds(), titles()]).toEqual([false, ['Emergency access: ada may have used reader']]);
  });

  it('is reviewed once when the request is cancelled before the access is seen there', async () => {
    const catalog = watched({ users: ['wilma@example.com'] }, { by: { users: ['wilma@example.com'] } });
    cast = await openCast({ catalog });
    const { house, ada } = cast;
    const wilma = await house.person('wilma', []);
    const granted = await grantedAndNotRecorded(ada);
    await cancelExecution(ada, { id: granted.id });
    granted.goOn();
    await granted.done;
    await house.pass(hour);
    expect(holds()).toBe(false);
    const { reviews } = await listReviews(wilma, {});
    expect(reviews).toMatchObject([{ execution_id: granted.id, status: 'open', active_from: null, may_close: true }]);
    await closeReview(wilma, { id: String(reviews[0]?.id), verdict: 'not_justified', note: 'Cancelled in between.' });
    await house.pass(hour);
    expect((await listReviews(wilma, {})).reviews).toEqual([]);
  });

  it('is neither told nor reviewed when it ends before the provider was called', async () => {
    const catalog = watched({ users: ['wilma@example.com'] }, { by: { users: ['wilma@example.com'] } });
    cast = await openCast({ catalog });
    const { house, ada } = cast;
    const wilma = await house.person('wilma', []);
    const id = await request(ada, { workflow: 'automatic', duration: 'PT30M' });
    await beginOnly(house, id);
    await cancelExecution(ada, { id });
    await house.pass(hour);
    expect([house.provider.count('ensurePresent'), titles()]).toEqual([0, []]);
    expect((await listReviews(wilma, {})).reviews).toEqual([]);
  });
});
