import { beginLogin, completeLogin } from '@belay/core';
import { expect, it } from 'vitest';
import { createPeopleProvider } from './support/people-provider.js';
import { catalogWith, openCast } from './support/stories.js';

/** Signs in with a provider that returns this person. Returns the outcome, and the names of the identities that were stored. */
async function signIn(told: { subject: string; email: string; groups?: string[] }) {
  const idp = createPeopleProvider('idp');
  const catalog = catalogWith({}) as { providers: object };
  await using cast = await openCast({
    catalog: { ...catalog, providers: { ...catalog.providers, idp: { provider: 'idp' } } },
    connectors: [idp.connector],
  });
  idp.state.person = told;
  const { ctx, database } = cast.house;
  await beginLogin(ctx, { provider: 'idp', browserSecret: 'a browser' });
  const currentUrl = new URL('http://127.0.0.1:8080/api/v1/auth/callback/idp');
  currentUrl.search = new URLSearchParams({ code: 'good', state: idp.asked.at(-1)?.state ?? '' }).toString();
  const outcome = await completeLogin(ctx, { provider: 'idp', currentUrl, browserSecret: 'a browser' }).then(
    () => 'signed in',
    (error: { code?: string }) => error.code,
  );
  const known = await database.sql<{ name: string }[]>`select name from user_identities where provider = 'idp'`;
  return { outcome, known: known.map(({ name }) => name) };
}

it.each([
  ['a letter that becomes another one in lower case', { email: 'gra\u212ae@example.com' }],
  ['a full-width letter', { email: '\uff41da@example.com' }],
  ['a space', { email: 'ada @example.com' }],
  ['a line break', { email: 'ada@example.com\n' }],
  ['an invisible character', { email: 'a\u200bda@example.com' }],
  ['a zero byte', { subject: 'ada\u0000', email: 'x@example.com' }],
  ['half a character', { email: 'x@example.com', groups: ['a\ud800'] }],
  ['no end', { subject: 'x'.repeat(2_000), email: 'x@example.com' }],
])('signs in no person who is described with %s', async (_what, told) => {
  expect(await signIn({ subject: 'strange', ...told })).toEqual({ outcome: 'forbidden', known: [] });
});

it('a name is shown as one line, without what cannot be seen', async () => {
  expect(await signIn({ subject: 'Grace\n\u202eHopper', email: 'ada@example.com' })).toEqual({
    outcome: 'signed in',
    known: ['Grace Hopper'],
  });
});
