import { listAccess, listInbox } from '@belay/core';
import { afterEach, expect, it } from 'vitest';
import { ask, type Cast, catalogWith, openCast } from './support/stories.js';

let cast: Cast | undefined;
afterEach(async () => {
  await cast?.[Symbol.asyncDispose]();
  cast = undefined;
});

it.each([
  ['marks an emergency', true],
  ['marks nothing else', false],
])('%s for the approver who decides on it, and for the person who holds it', async (_what, emergency) => {
  const more = emergency ? { break_glass: { tell: { groups: ['watch'] } } } : {};
  const catalog = { ...catalogWith({}, more), messages: { channels: ['memory'] } };
  cast = await openCast({ catalog });
  const { house, ada, grace } = cast;
  await ask(house, ada, { duration: 'PT1H' });
  expect((await listInbox(grace)).approvals).toMatchObject([{ role: 'reader', break_glass: emergency }]);
  await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
  expect((await listAccess(ada)).access).toMatchObject([{ role: 'reader', break_glass: emergency }]);
});
