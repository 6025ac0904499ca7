import type { AccessGrant } from '@belay/sdk';
import { describeAccess } from './describe-access.js';
import type { Output } from './output.js';

/** What is held, for whom and until when. */
export function renderAccess(access: AccessGrant[], output: Output): string {
  return output.table(
    ['Execution', 'Role', 'Provider', 'Identity', 'Access', 'State', 'Until'],
    access.map((grant) => [
      grant.execution_id,
      grant.role,
      grant.provider,
      grant.identity,
      describeAccess(grant.access),
      grant.state,
      grant.expires_at,
    ]),
    'You hold no access.',
  );
}
