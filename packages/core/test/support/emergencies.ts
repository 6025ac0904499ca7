import { listReviews } from '@belay/core';
import { afterEach } from 'vitest';
import { type OverseenCast, openOverseenCast, overseers } from './overseers.js';
import { ask, type Cast, catalogWith, type Person } from './stories.js';

const review = { by: { groups: ['security'] }, within: 'P2D' };

/** Returns a catalog whose role `reader` is for emergencies, which the group security reviews. */
export function emergencyCatalog({ role = {}, more = {} }: { role?: object; more?: object } = {}): object {
  const kinds = ['break_glass.used', 'review.opened', 'review.overdue'];
  return {
    ...catalogWith({}, { break_glass: { tell: { users: ['wilma@example.com'] }, review }, ...role }),
    access: overseers,
    messages: { channels: ['memory'], kinds, operators: [{ provider: 'memory', to: 'oncall' }] },
    ...more,
  };
}

export const justified = { verdict: 'justified' as const, note: 'The database was down: INC-1' };

export interface Emergency extends OverseenCast {
  /** The reviewer. */
  sue: Person;
}

/** Returns functions that open a house in a test, and use it; closes the house after the test. */
export function stageEmergencies() {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const opened = () => cast as Cast;
  return {
    async open(catalog: object = emergencyCatalog()): Promise<Emergency> {
      const overseen = await openOverseenCast(catalog);
      cast = overseen;
      return { ...overseen, sue: await cast.house.person('sue', ['security']) };
    },
    /** Requests the role, which gives access immediately; returns the id of the request. */
    use: (person = opened().ada) => ask(opened().house, person, { workflow: 'automatic', duration: 'PT1H' }),
    /** Returns the recipients and titles of the messages about reviews. */
    told: () =>
      opened()
        .house.provider.messages.filter(({ title }) => title.includes('eview'))
        .map(({ to, title }) => [to, title])
        .sort(),
    entries: (type: string) => opened().house.database.sql`select * from ledger where type = ${type} order by seq`,
  };
}

/** Returns the reviews that a person sees. */
export const shown = async (person: Person, filter: object = {}) => (await listReviews(person, filter)).reviews;

/** Returns the one review that a person sees. */
export async function only(person: Person, filter: object = {}) {
  const [one, ...others] = await shown(person, filter);
  if (!one || others.length > 0) throw new Error(`${others.length + (one ? 1 : 0)} reviews are shown`);
  return one;
}
