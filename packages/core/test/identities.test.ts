import { createLogin, upsertUser, verifyLogin, withActor } from '@belay/core';
import { migrateDatabase } from '@belay/db';
import { machine } from '@belay/program';
import { createOlderDatabase } from '@belay/testkit/database';
import { newId } from '@belay/testkit/house';
import type postgres from 'postgres';
import { expect, it } from 'vitest';
import { approve, ask, openCast, staged } from './support/stories.js';

/** Runs `look` on a database as it was before the migration whose name contains `tag`; `migrate` applies the rest. */
async function fromBefore(tag: string, look: (sql: postgres.Sql, migrate: () => Promise<void>) => Promise<void>) {
  await using database = await createOlderDatabase(tag);
  await look(database.sql, async () => void (await migrateDatabase(database.url, machine)));
}

it('addresses from before one folding are folded, and those that are not plain wait for the next sign-in', async () => {
  await fromBefore('identities_are_compared', async (sql, migrate) => {
    const addresses = [
      'Ada@Example.COM',
      'ada@example.com',
      'İvan@example.com',
      'Élodie@example.com',
      'nobody',
      'a@b@c',
    ];
    const [owner] = addresses.map(() => newId());
    for (const [index, email] of addresses.entries()) {
      const id = index === 0 ? owner : newId();
      await sql`insert into users (id, provider, subject, email, name, groups)
        values (${String(id)}, 'corp', ${email}, ${email}, 'x', '[]')`;
      await sql`insert into user_identities (provider, subject, user_id, email, name, groups)
        values ('corp', ${email}, ${String(id)}, ${email}, 'x', '["g"]')`;
    }
    await migrate();
    const rows = await sql`select subject, email_folded, organizations, issuer from user_identities`;
    const folded = Object.fromEntries(rows.map(({ subject, email_folded }) => [subject as string, email_folded]));
    expect(folded).toEqual({
      'Ada@Example.COM': 'ada@example.com',
      // Two people with one address stay two users, and count as one person for decisions.
      'ada@example.com': 'ada@example.com',
      'İvan@example.com': null,
      'Élodie@example.com': null,
      nobody: null,
      'a@b@c': null,
    });
    expect(rows[0]).toMatchObject({ organizations: ['g'], issuer: null });
    await migrate();
  });
});

it('people and logins from before identities have theirs after the migration', async () => {
  await fromBefore('0003_sessions', async (sql, migrate) => {
    const [user, other] = [newId(), newId()];
    await sql`insert into users (id, provider, subject, email, name, groups) values
      (${user}, 'corp', 's1', 'Ada@example.com', 'Ada', '["engineers"]'), (${other}, 'operator', 'r', 'r@x', 'r', '[]')`;
    await sql`insert into logins (secret_hash, id, user_id, kind, provider, expires_at) values
      ('h1', ${newId()}, ${user}, 'browser', 'corp', now()), ('h2', ${newId()}, ${other}, 'token', 'operator', now())`;
    await migrate();
    expect([
      ...(await sql`select provider, subject, user_id, email, groups from user_identities order by provider`),
    ]).toEqual([
      { provider: 'corp', subject: 's1', user_id: user, email: 'Ada@example.com', groups: ['engineers'] },
      { provider: 'operator', subject: 'r', user_id: other, email: 'r@x', groups: [] },
    ]);
    expect([...(await sql`select subject from logins order by secret_hash`)]).toEqual([
      { subject: 's1' },
      { subject: 'r' },
    ]);
    await migrate();
  });
});

it('no one approves access for themselves by coming as another of their identities', async () => {
  const catalog = staged({}, { permissions: { delegates: { users: ['ada@example.com'] } } }) as { providers: object };
  await using cast = await openCast({
    catalog: { ...catalog, providers: { ...catalog.providers, hub: { provider: 'login', groups: 'all' } } },
  });
  const { house, ada } = cast;
  // Grace is known at two providers. Ada requests access for her first identity, and Grace signs in with her second.
  const known = { provider: 'hub', subject: 'g2', email: 'g2@example.org', name: 'Grace', groups: ['approvers'] };
  await house.database.sql`
    insert into user_identities (provider, subject, user_id, email, name, groups)
    values (${known.provider}, ${known.subject}, ${cast.grace.actor.id}, ${known.email}, ${known.name}, '["approvers"]')`;
  const id = await ask(house, ada, { identities: ['grace@example.com'] });
  const { token } = await createLogin(house.ctx, { user: { ...known, id: cast.grace.actor.id }, kind: 'browser' });
  const second = await verifyLogin(house.ctx, { token });
  expect(second?.actor).toMatchObject({ id: cast.grace.actor.id, email: known.email, groups: ['approvers'] });
  if (!second) return;
  await expect(approve(withActor(house.ctx, second.actor), id)).rejects.toMatchObject({ code: 'forbidden' });
  // A sign-in with either identity is the same person; Alan is another person.
  expect(await upsertUser(house.database.db, { ...known, id: newId() })).toMatchObject({ id: cast.grace.actor.id });
  expect(await approve(cast.alan, id)).toMatchObject({ status: 'approved' });
});
