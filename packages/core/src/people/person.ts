import type { Person } from '../context.js';

/** The identity that a provider proved, before its person is known; with the provider's own names of groups. */
export interface ProvedIdentity extends Omit<Person, 'id'> {
  /** Absent when the provider does not distinguish them from groups. */
  organizations?: string[] | undefined;
  /** Who issued the subject, if the provider states it. */
  issuer?: string | undefined;
}
