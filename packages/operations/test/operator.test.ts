import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ActorStore, applyCatalog, createKeyring, createToken, upsertUser, verifyLogin } from '@belay/core';
import { createLogger, newId, StartError } from '@belay/program';
import { createEmptyDatabase } from '@belay/testkit/database';
import { expect, it } from 'vitest';
import { connectors } from '../src/connectors.js';
import { parseEnvironment } from '../src/environment.js';
import { openOperatorContext } from '../src/operator.js';

/** Verifies a token as a server does. A server could also call providers, which must not be necessary here. */
function verify(store: ActorStore, token: string) {
  const unused = () => Promise.reject(new Error('A token is verified without a provider'));
  return verifyLogin(
    { ...store, keyring: createKeyring(['s'.repeat(32)]), evaluate: unused, fetch: unused },
    { token },
  );
}

it('an operator’s command works with no server running, and with another process on the same database', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'belay-operator-'));
  const environment = parseEnvironment({ BELAY_DATA: folder });
  const log = createLogger({ level: 'silent', readable: false, write: () => {} });
  try {
    const first = await openOperatorContext({ environment, name: 'root', log });
    const second = await openOperatorContext({ environment, name: 'root', log });
    const made = await createToken(second.context, { user: 'robot@example.com', ttl: 'PT1H', groups: ['engineers'] });
    await second.close();
    const login = await verify(first.context, made.token);
    expect(login?.actor).toMatchObject({ email: 'robot@example.com', groups: ['engineers'] });
    // A command, which does not have the provider's secrets, knows a person who has signed in.
    const config = { issuer: 'https://id.example.com', client_id: 'belay', client_secret: '${env:NOT_HERE}' };
    const document = { providers: { corp: { provider: 'oidc', config } } };
    const { db } = first.context;
    await applyCatalog(db, { document, source: 'test' }, { connectors, resolve: () => 'a secret' });
    const person = { provider: 'corp', subject: 'r', email: 'rita@example.com', name: 'Rita', groups: ['engineers'] };
    const { id } = await upsertUser(db, { ...person, id: newId() });
    const third = await openOperatorContext({ environment, name: 'root', log });
    const known = await createToken(third.context, { user: 'Rita@example.com', ttl: 'PT1H' });
    expect((await verify(third.context, known.token))?.actor).toMatchObject({
      id,
      groups: ['engineers'],
    });
    await expect(
      createToken(third.context, { user: 'rita@example.com', ttl: 'PT1H', groups: ['approvers'] }),
    ).rejects.toMatchObject({ code: 'invalid', issues: [{ path: 'groups' }] });
    await third.close();
    await first.close();
    expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).toBe(false);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it('an operator’s command on a database that is too old to be upgraded names the revision to start first', async () => {
  await using old = await createEmptyDatabase();
  await old.sql`create table migrations (id serial primary key, hash text not null, created_at bigint)`;
  await old.sql`insert into migrations (hash, created_at) values ('older', 1795669641732)`;
  const environment = parseEnvironment({ DATABASE_URL: old.url, BELAY_SECRET: 's'.repeat(32) });
  const log = createLogger({ level: 'silent', readable: false, write: () => {} });
  const opened = openOperatorContext({ environment, name: 'root', log });
  await expect(opened).rejects.toThrow(StartError);
  await expect(opened).rejects.toThrow('start revision e1d42f42 of Belay with it once, then this version');
});
