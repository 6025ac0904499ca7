import type { Target } from './access.js';
import type { Account } from './people.js';

/** One kind of access at GitHub: teams, organization roles, or direct permissions in repositories. */
export interface Place<T extends Target = Target> {
  /** Returns GitHub's number of what is named, or null when it does not exist in the organization. */
  find(name: string, signal: AbortSignal): Promise<number | null>;
  /** Returns whether the person has it now; an invitation is nothing that they have. */
  holds(id: number, user: number, signal: AbortSignal): Promise<boolean>;
  /** Throws `Terminal` for what may not be granted. Leaves no invitation behind. */
  grant(id: number, user: number, target: T, signal: AbortSignal): Promise<void>;
  /** Takes it away, invitations included. Throws `Retryable` while the person still has it. */
  revoke(id: number, user: number, signal: AbortSignal): Promise<void>;
  /** Returns everyone who has it. */
  members(id: number, signal: AbortSignal): Promise<Member[]>;
}

export interface Member extends Account {
  /** The role in a repository. */
  role?: string;
}
