import type { InboxEntry } from '@belay/sdk';
import { describeAccess } from './describe-access.js';
import type { Output } from './output.js';

/** Renders everything that an approval of this request grants, with identities, duration and digest. */
export function renderRequest(entry: InboxEntry, output: Output): string {
  const left = [...new Set(entry.grants.flatMap(({ leaves_behind: sentence }) => sentence ?? []))];
  return [
    output.fields({
      approval: entry.id,
      request: entry.execution_id,
      extends: entry.extends,
      from: `${entry.requester.name} <${entry.requester.email}>`,
      role: entry.role,
      reason: entry.reason,
      duration: entry.duration,
      'decide by': entry.expires_at,
      ...(entry.because === null ? {} : { reopened: entry.because }),
      ...(entry.stages > 1 ? { stage: `${entry.stage} of ${entry.stages}` } : {}),
      approvals: `${entry.decisions} of ${entry.count}`,
      ...(left.length > 0 ? { 'may remain': left.join(' ') } : {}),
      digest: entry.request_digest,
    }),
    output.table(
      ['Provider', 'Identity', 'Access', 'Residual validity', 'Expiry', 'Target'],
      entry.grants.map((grant) => [
        grant.provider,
        grant.identity,
        describeAccess(grant.access),
        grant.residual === 'PT0S' ? null : grant.residual,
        grant.native_expiry ? 'by the provider' : null,
        grant.target,
      ]),
      'No grants',
    ),
  ].join('\n');
}
