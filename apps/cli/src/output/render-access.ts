import type { AccessGrant } from '@belay/sdk';
import { describeTimeLeft } from '../duration.js';
import { describeAccess } from './describe-access.js';
import type { Output } from './output.js';

/** Renders active access with identity, expiry and time left. */
export function renderAccess(access: AccessGrant[], output: Output, now: Date): string {
  return output.table(
    ['Request', 'Role', 'Provider', 'Identity', 'Access', 'State', 'Until', 'Left'],
    access.map((grant) => [
      grant.execution_id,
      grant.role,
      grant.provider,
      grant.identity,
      describeAccess(grant.access),
      grant.pending ? 'waiting for the provider' : grant.state,
      grant.expires_at,
      describeTimeLeft(grant.expires_at, now),
    ]),
    'No active access',
  );
}
