import { stopUser, upsertUser } from '@belay/core';
import { type Connector, oktaConnector } from '@belay/providers';
import { newId } from '@belay/testkit/house';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openOrganization } from '../../providers/test/okta/organization.js';
import { ask, type Cast, catalogWith, openCast } from './support/stories.js';

describe('access that a colleague requested for a user of Okta, by login, with identity: login', () => {
  let organization: Awaited<ReturnType<typeof openOrganization>>;
  let cast: Cast;
  beforeAll(async () => {
    organization = await openOrganization();
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  afterAll(() => organization?.close());

  async function granted() {
    const [group, user] = [await organization.group(), await organization.user()];
    const { clientId, privateKey } = organization.app;
    const config = {
      url: organization.url,
      client_id: clientId,
      private_key: privateKey,
      identity: { login: ['login'] },
    };
    const base = catalogWith(
      {},
      {
        providers: ['target'],
        inherits: [`target:group/${group.name}`],
        permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } },
      },
    );
    const catalog = { ...base, providers: { target: { provider: 'okta', config } } };
    cast = await openCast({ catalog, connectors: [oktaConnector as Connector] });
    await ask(cast.house, cast.ada, { workflow: 'automatic', identities: [user.login] });
    const holds = async () => (await organization.members(group.id)).includes(user.id);
    expect(await holds()).toBe(true);
    return { user, holds };
  }

  /** Stops a person who signs in with an address that Okta does not know. */
  async function stop(provider: string, subject: string): Promise<void> {
    const email = 'rita@private.example';
    await upsertUser(cast.house.database.db, { id: newId(), provider, subject, email, name: 'Rita', groups: [] });
    await stopUser(cast.house.operator(), { user: email, reason: 'has left' });
    await cast.house.work();
  }

  it('ends when the person with that sign-in is stopped', async () => {
    const { user, holds } = await granted();
    await stop('login', user.id);
    expect(await holds()).toBe(false);
  });

  it.each([
    ['at another provider', 'other', (id: string) => id],
    ['with another subject', 'login', (id: string) => `${id}0`],
  ])('stays when the stopped person signs in %s', async (_, provider, subjectOf) => {
    const { user, holds } = await granted();
    await stop(provider, subjectOf(user.id));
    expect(await holds()).toBe(true);
  });
});
