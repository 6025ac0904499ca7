import type { Execution, InboxEntry } from '@belay/sdk';
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
      role: nameRole(entry.role, entry.break_glass),
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

/** Returns the name of a role, with a mark when it is a role for emergencies. */
export function nameRole(role: string, emergency: boolean | undefined): string {
  return emergency === true ? `${role} (emergency)` : role;
}

/**
 * Returns a provider's access in words: the text itself, or its fields as `name value` pairs. Nothing is left out, because an approver must
 * see everything that will be granted.
 */
export function describeAccess(access: unknown): string {
  if (typeof access === 'string') return access;
  if (typeof access !== 'object' || access === null || Array.isArray(access)) return JSON.stringify(access) ?? '-';
  return Object.entries(access)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}

/** Returns the state of a request in words; servers without `state` report only the status of the workflow. */
export function describeState({ state, status }: { state?: Execution['state']; status: string }): string {
  return (state ?? status).replaceAll('_', ' ');
}
