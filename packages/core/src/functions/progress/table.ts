import { settleApproval } from '../../approvals/settle.js';
import { settleGrants } from './grant.js';
import { settleHold } from './hold.js';
import type { ReadProgress } from './progress.js';
import { settleRevocation } from './revoke.js';

/** How each function that parks looks whether it is done. */
export const progressOf: ReadonlyMap<string, ReadProgress> = new Map<string, ReadProgress>([
  ['access.approve', settleApproval],
  ['access.grant', settleGrants],
  ['access.hold', settleHold],
  ['access.revoke', settleRevocation],
]);
