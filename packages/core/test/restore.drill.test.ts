import {
  answerLeftover,
  applyCatalog,
  beginRestore,
  compareRestored,
  openRestore,
  readRestore,
  returnAccess,
  revokeAccess,
} from '@belay/core';
import { approvalCatalog, withLogin } from '@belay/testkit/house';
import { expect, it } from 'vitest';
import { backUp } from './support/back-up.js';
import { access, ask, hour, minute, openCast, request } from './support/stories.js';

it('is drilled: what was granted after the backup is gone, and nothing is granted before everything was compared', async () => {
  const people = ['ada', 'grace', 'alan', 'mary', 'joan'];
  await using cast = await openCast({ people });
  const { house, ada, alan } = cast;
  const mary = await house.person('mary', ['engineers']);
  const joan = await house.person('joan', ['engineers']);
  const holding = () => people.filter((name) => house.provider.holds(`${name}@example.com`, access));
  const automatic = { workflow: 'automatic', duration: 'PT8H' };

  house.provider.put('grace@example.com', access);
  await ask(house, ada, automatic);
  await ask(house, joan, automatic);
  await returnAccess(alan, { execution_id: await ask(house, alan, automatic) });
  await house.pass(20 * minute);
  expect(holding()).toEqual(['ada', 'grace', 'joan']);
  const restore = await backUp(house.database);

  // After the backup, two people are granted access, and the access of one is revoked with a reason.
  await house.pass(minute);
  await ask(house, alan, automatic);
  await ask(house, mary, automatic);
  await revokeAccess(house.operator(), { user: 'ada@example.com', reason: 'laptop stolen' });
  await house.work();
  expect(holding()).toEqual(['grace', 'alan', 'mary', 'joan']);

  await house.pass(minute);
  await restore();
  await beginRestore(house.operator(), { reason: 'the disk failed' });
  await request(mary, automatic);
  // By the restored rows ada holds access, but no worker grants it again.
  await house.pass(minute);
  expect(holding()).toEqual(['grace', 'alan', 'mary', 'joan']);

  await compareRestored(house.ctx, AbortSignal.timeout(5_000));
  await house.work();
  expect(holding()).toEqual(['grace', 'mary', 'joan']);
  const { leftovers } = await readRestore(house.operator());
  expect(leftovers.map(({ identity }) => identity)).toEqual(['mary@example.com']);
  const lost = { id: String(leftovers[0]?.id), reason: 'granted after the backup' };
  await answerLeftover(house.operator(), { ...lost, answer: 'revoke' });
  await house.work();
  expect(holding()).toEqual(['grace', 'joan']);

  await openRestore(house.operator());
  await house.pass(hour);
  expect(holding()).toEqual(['grace', 'joan']);
  await house.pass(12 * hour);
  expect(holding()).toEqual(['grace']);
});

it('has a process that was not stopped read the configuration again, when another one has the version of the lost one', async () => {
  await using cast = await openCast();
  const { house, ada } = cast;
  const restore = await backUp(house.database);
  await house.applyCatalog(approvalCatalog({ role: { description: 'Of the time that is lost' } }));
  const lost = house.catalog.current().version;
  await restore();
  // Applied by another process; this process refreshes only later.
  const closed = withLogin(approvalCatalog({ role: { workflows: ['approved'] } }));
  const options = { connectors: house.connectors, resolve: () => undefined };
  expect(await applyCatalog(house.database.db, { document: closed, source: 'test' }, options)).toMatchObject({
    version: lost,
  });
  await house.catalog.refresh();
  await expect(request(ada, { workflow: 'automatic' })).rejects.toMatchObject({ code: 'invalid' });
});
