import type { Person } from '../context.js';

/** What a provider proved, before it is known whose it is; groups as the provider says them. */
export interface ProvedIdentity extends Omit<Person, 'id'> {
  /** Absent where the provider has none apart from its groups. */
  organizations?: string[] | undefined;
  /** Whom the subject belongs to, where the provider says so. */
  issuer?: string | undefined;
}
