import type { CallFunction } from '@belay/engine';
import { settleApproval } from '../approvals/settle.js';
import { approve } from './approve.js';
import { grant } from './grant.js';
import { hold } from './hold.js';
import { notify } from './notify.js';
import { settleGrants } from './progress/grant.js';
import { settleHold } from './progress/hold.js';
import { settleRevocation } from './progress/revoke.js';
import { revoke } from './revoke.js';
import { validate } from './validate.js';

/** The functions of core that a workflow can call, by the name that it calls them. */
export const accessFunctions: Readonly<Record<string, CallFunction>> = {
  'access.validate': validate,
  'access.approve': { ...approve, progress: settleApproval },
  'access.grant': { ...grant, progress: settleGrants },
  'access.hold': { ...hold, progress: settleHold },
  'access.revoke': { ...revoke, progress: settleRevocation },
  'access.notify': notify,
};
