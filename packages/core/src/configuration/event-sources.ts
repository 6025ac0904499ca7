import type { ErrorIssue } from '@belay/contract/errors';
import { type ResolveReference, resolveReferences } from './references.js';
import type { CatalogDocument } from './schema.js';

/** The secret that proves that an event comes from a source. */
export type EventSource = { kind: 'token'; token: string } | { kind: 'standard_webhooks'; secret: Uint8Array };

const reference = /^\$\{(?:env|vault):[^}]+\}$/;
const shortest = 24;

/** Reads the sources of events with their secrets, which must be references. Adds an issue per error. */
export function compileEventSources(
  document: CatalogDocument,
  resolve: ResolveReference,
  issues: ErrorIssue[],
): Map<string, EventSource> {
  const sources = new Map<string, EventSource>();
  for (const [name, { token, standard_webhooks }] of Object.entries(document.events?.sources ?? {})) {
    const path = `events.sources.${name}`;
    if ((token === undefined) === (standard_webhooks === undefined)) {
      issues.push({ path, message: 'must have either token or standard_webhooks' });
      continue;
    }
    const [at, written] =
      token === undefined
        ? [`${path}.standard_webhooks.secret`, standard_webhooks?.secret ?? '']
        : [`${path}.token`, token];
    if (!reference.test(written)) {
      issues.push({ path: at, message: 'must be a reference: ${env:NAME} or ${vault:path#key}' });
      continue;
    }
    const before = issues.length;
    const secret = resolveReferences(written, at, resolve, issues);
    if (issues.length > before) continue;
    const source: EventSource =
      token === undefined
        ? { kind: 'standard_webhooks', secret: Buffer.from(secret.replace(/^whsec_/, ''), 'base64') }
        : { kind: 'token', token: secret };
    const length = Buffer.byteLength(source.kind === 'token' ? source.token : source.secret);
    if (length < shortest) issues.push({ path: at, message: `is too short: must have at least ${shortest} bytes` });
    else sources.set(name, source);
  }
  return sources;
}
