import { afterEach, describe, expect, it } from 'vitest';
import { ask, type Cast, catalogWith, hour, minute, openCast } from './support/stories.js';

/** Ways to use a role for emergencies without a word to those who are to be told. */

const watched = (tell: object) => ({
  ...catalogWith({}, { break_glass: { tell } }),
  messages: { channels: ['memory'], kinds: ['break_glass.used'] },
});

describe('the use of a role for emergencies', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const told = () => (cast as Cast).house.provider.messages.map(({ to }) => to);

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
});
