import { type ActorContext, beginLogin, completeLogin, type UserActor, verifyLogin, withActor } from '@belay/core';
import { approvalCatalog, createHouse, type House } from '@belay/testkit/house';
import { createPeopleProvider, type PeopleProvider, type Told } from './people-provider.js';

export interface Visitor extends ActorContext {
  actor: UserActor;
  /** The secret of the login. */
  token: string;
}

export interface Doors extends AsyncDisposable {
  house: House;
  corp: PeopleProvider;
  github: PeopleProvider;
  /** Another registration at the issuer of `corp`. */
  partner: PeopleProvider;
  /** Applies other settings of the providers. */
  configure(providers: Record<string, object>): Promise<void>;
  /** Signs a person in, in a new browser or in one where they are already signed in. */
  signIn(provider: PeopleProvider, person: Told, signedIn?: Visitor): Promise<Visitor>;
}

/** Returns a house where people sign in with the provider of a company, a public one and the one of a partner, configured by `settings`. */
export async function openDoors(settings: Record<string, object>, catalog: object = approvalCatalog()): Promise<Doors> {
  const issuer = 'https://corp.example.com';
  const corp = createPeopleProvider('corp', issuer);
  const github = createPeopleProvider('github');
  const partner = createPeopleProvider('partner', issuer);
  const documentOf = (providers: Record<string, object>) => {
    const named = Object.entries(providers).map(([id, more]) => [id, { provider: id, ...more }]);
    const closed = { login: { provider: 'login', enabled: false } };
    const before = (catalog as { providers: object }).providers;
    return { ...catalog, providers: { ...before, ...closed, ...Object.fromEntries(named) } };
  };
  const house = await createHouse({
    catalog: documentOf(settings),
    people: ['rita', 'adam', 'alan'],
    connectors: [corp.connector, github.connector, partner.connector],
  });
  let doors = 0;
  return {
    house,
    corp,
    github,
    partner,
    configure: (providers) => house.applyCatalog(documentOf(providers)),
    async signIn(provider, person, signedIn) {
      const id = provider.connector.type;
      doors += 1;
      const browserSecret = `browser ${doors}`;
      provider.state.person = person;
      await beginLogin(house.ctx, { provider: id, browserSecret, signedIn: signedIn?.actor });
      const state = provider.asked.at(-1)?.state;
      const { token } = await completeLogin(house.ctx, {
        provider: id,
        currentUrl: new URL(`http://127.0.0.1:8080/api/v1/auth/callback/${id}?state=${state}&code=good`),
        browserSecret,
        signedIn: signedIn?.actor,
      });
      const verified = await verifyLogin(house.ctx, { token });
      if (!verified) throw new Error('not signed in');
      return { ...withActor(house.ctx, verified.actor), token };
    },
    [Symbol.asyncDispose]: () => house[Symbol.asyncDispose](),
  };
}
