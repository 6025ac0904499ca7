import { beginLogin, completeLogin, createToken, receiveLogout, refreshSessions } from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findClicker } from '../src/messages/find-clicker.js';
import { createPeopleProvider, type PeopleProvider, type Told } from './support/people-provider.js';
import { type Cast, catalogWith, hour, minute, openCast } from './support/stories.js';

const gail: Told = { subject: 'gail', email: 'gail@example.com', groups: ['approvers'] };

describe('the right to decide by a button in a message', () => {
  let cast: Cast;
  let corp: PeopleProvider;
  let told: PeopleProvider;
  beforeEach(async () => {
    corp = createPeopleProvider('corp', 'https://corp.example.com');
    told = createPeopleProvider('told');
    const catalog = catalogWith({}) as { providers: object };
    const trusted_email_domains = ['example.com'];
    const providers = {
      ...catalog.providers,
      memory: { ...(catalog.providers as { memory: object }).memory, trusted_email_domains },
      corp: { provider: 'corp', groups: 'all', trusted_email_domains },
      told: { provider: 'told', groups: 'all' },
    };
    cast = await openCast({
      catalog: { ...catalog, providers },
      connectors: [corp.connector, told.connector],
    });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  let signIns = 0;
  async function signIn(provider: PeopleProvider, person = gail, secret = 'this browser'): Promise<string> {
    const { ctx } = cast.house;
    signIns += 1;
    const tokens = { refreshToken: `given-${signIns}`, expiresInMilliseconds: 2 * hour, ...person.tokens };
    provider.state.person = { ...person, tokens };
    const id = provider.connector.type;
    await beginLogin(ctx, { provider: id, browserSecret: secret });
    const state = provider.asked.at(-1)?.state;
    const currentUrl = new URL(`http://127.0.0.1:8080/api/v1/auth/callback/${id}?state=${state}&code=good`);
    return (await completeLogin(ctx, { provider: id, currentUrl, browserSecret: secret })).token;
  }
  const mayDecide = async (email = gail.email) =>
    (await findClicker(cast.house.ctx, 'memory', { subject: 'U1', email })) !== null;
  const logOut = (token: object) =>
    receiveLogout(cast.house.ctx, { provider: 'corp', logout_token: JSON.stringify(token) });
  const refuse = async () => {
    corp.state.refresh = 'refuses';
    await cast.house.database.advance(2 * hour - minute);
    await refreshSessions(cast.house.ctx);
  };
  const logins = () => cast.house.database.sql`select provider from logins where kind <> 'token'`;

  it('ends with a logout token for the person, at once, and is back after the next sign-in', async () => {
    await signIn(corp);
    await signIn(corp, { ...gail, subject: 'hal', email: 'hal@example.com' }, 'another browser');
    expect(await mayDecide()).toBe(true);
    await logOut({ subject: 'gail' });
    expect([await mayDecide(), await mayDecide('hal@example.com')]).toEqual([false, true]);
    await signIn(corp);
    expect(await mayDecide()).toBe(true);
  });

  it('ends with a logout token for a person whose logins had ended before', async () => {
    await signIn(corp);
    await cast.house.database.advance(20 * hour);
    expect(await mayDecide()).toBe(true);
    await logOut({ subject: 'gail' });
    expect(await mayDecide()).toBe(false);
  });

  it('stays after a logout token for one sign-in, and with another sign-in that is live', async () => {
    await signIn(corp, { ...gail, tokens: { sid: 's1' } });
    await logOut({ subject: 'gail', sid: 'another' });
    expect(await mayDecide()).toBe(true);
  });

  it('ends with a logout token for the only sign-in, or for the last one that is live', async () => {
    await signIn(corp, { ...gail, tokens: { sid: 's1' } });
    await signIn(corp, { ...gail, tokens: { sid: 's2' } }, 'another browser');
    await signIn(corp, { ...gail, subject: 'hal', email: 'hal@example.com', tokens: { sid: 's3' } }, 'a third browser');
    await logOut({ sid: 's1' });
    expect([(await logins()).length, await mayDecide()]).toEqual([2, true]);
    await logOut({ sid: 's2' });
    expect([(await logins()).length, await mayDecide(), await mayDecide('hal@example.com')]).toEqual([1, false, true]);
  });

  it('ends with a logout token for a sign-in whose login had ended before', async () => {
    await signIn(corp, { ...gail, tokens: { sid: 's1' } });
    await cast.house.database.advance(20 * hour);
    expect(await mayDecide()).toBe(true);
    await logOut({ subject: 'gail', sid: 's1' });
    expect(await mayDecide()).toBe(false);
  });

  it('ends when the provider no longer accepts the only sign-in, also with a token of an operator', async () => {
    await signIn(corp);
    await createToken(cast.house.operator(), { user: gail.email, ttl: 'PT720H' });
    await refuse();
    expect([await logins(), await mayDecide()]).toEqual([[], false]);
  });

  it('stays when the provider no longer accepts one of two sign-ins, and ends with the second', async () => {
    await signIn(corp);
    await cast.house.database.advance(hour);
    await signIn(corp, gail, 'another browser');
    corp.state.refresh = 'refuses';
    await cast.house.database.advance(hour - minute);
    expect(await refreshSessions(cast.house.ctx)).toBe(0);
    expect([(await logins()).length, await mayDecide()]).toEqual([1, true]);
    await cast.house.database.advance(hour);
    await refreshSessions(cast.house.ctx);
    expect([(await logins()).length, await mayDecide()]).toEqual([0, false]);
  });
});
