/** `ended`: over, and not yet verified as removed at the provider; `gone`: verified. */
export type GrantState = 'granting' | 'active' | 'ended' | 'gone' | 'failed';

/** Returns where a grant is in its life, from its row alone. */
export function grantState(
  grant: {
    activatedAt: Date | null;
    endedAt: Date | null;
    goneAt: Date | null;
    expiresAt: Date;
    endedReason: string | null;
  },
  now: Date,
): GrantState {
  if (grant.goneAt) return 'gone';
  if (grant.endedReason === 'failed') return 'failed';
  if (grant.endedAt || grant.expiresAt.getTime() <= now.getTime()) return 'ended';
  return grant.activatedAt ? 'active' : 'granting';
}
