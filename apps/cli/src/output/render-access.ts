import type { AccessGrant } from '@belay/sdk';
import { describeTimeLeft } from '../duration.js';
import { describeAccess } from './describe-access.js';
import type { Output } from './output.js';

/** Renders active access with identity, expiry and time left. */
export function renderAccess(access: AccessGrant[], output: Output, now: Date): string {
  const ids = output.ids(access.map(({ execution_id }) => execution_id));
  return output.table(
    ['Request', 'Role', 'Provider', 'Identity', 'Access', 'State', ...(output.terminal ? [] : ['Until']), 'Left'],
    access.map((grant, index) => [
      ids[index],
      grant.role,
      grant.provider,
      grant.identity,
      describeAccess(grant.access),
      grant.pending ? 'waiting for the provider' : grant.state,
      ...(output.terminal ? [] : [grant.expires_at]),
      describeTimeLeft(grant.expires_at, now),
    ]),
    'No active access',
  );
}
