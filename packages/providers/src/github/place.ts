import type { Target } from './access.js';
import type { Account } from './people.js';

/** One kind of access at GitHub: teams, organization roles, or direct permissions in repositories. */
export interface Place<T extends Target = Target> {
  /** Returns GitHub's number of the team, role or repository, or null when it does not exist in the organization. */
  find(name: string, signal: AbortSignal): Promise<number | null>;
  /** Returns whether the person has the access now; an open invitation does not count. */
  holds(id: number, user: number, signal: AbortSignal): Promise<boolean>;
  /** Grants the access. Throws `Terminal` when it may not be granted. Leaves no invitation behind. */
  grant(id: number, user: number, target: T, signal: AbortSignal): Promise<void>;
  /** Revokes the access and open invitations. Throws `Retryable` while the person still has the access. */
  revoke(id: number, user: number, signal: AbortSignal): Promise<void>;
  /** Returns everyone who has the access. */
  members(id: number, signal: AbortSignal): Promise<Member[]>;
}

export interface Member extends Account {
  /** The role in a repository. */
  role?: string;
}
