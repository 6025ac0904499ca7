import type { HouseOptions } from '@belay/testkit/house';
import { type Cast, openCast, type Person } from './stories.js';

/** The administrators and auditors in the configurations of these tests. */
export const overseers = { administrators: { groups: ['platform'] }, auditors: { groups: ['audit'] } };

export interface OverseenCast extends Cast {
  /** An administrator. */
  olga: Person;
  /** An auditor. */
  otto: Person;
}

/** Opens a house whose configuration names administrators and auditors, with one of each. */
export function openOverseenCast(catalog: object): Promise<OverseenCast> {
  return openOverseenCastWith({ catalog: { ...catalog, access: overseers } });
}

/** Opens a house with these options, whose catalog has the overseers, with one of each. */
export async function openOverseenCastWith(options: HouseOptions): Promise<OverseenCast> {
  const cast = await openCast(options);
  const olga = await cast.house.person('olga', ['platform']);
  const otto = await cast.house.person('otto', ['audit']);
  return { ...cast, olga, otto };
}
