/** A person as one of their providers vouches for them: `id` is ours, the rest is what that provider says. */
export interface Person {
  id: string;
  email: string;
  name: string;
  groups: string[];
  provider: string;
  subject: string;
}

/** What a provider proved, before it is known whose it is; groups as the provider says them. */
export interface ProvedIdentity extends Omit<Person, 'id'> {
  /** Absent where the provider has none apart from its groups. */
  organizations?: string[] | undefined;
  /** Whom the subject belongs to, where the provider says so. */
  issuer?: string | undefined;
}
