import { digestOf } from '@belay/contract/canonical';
import type { ManyElevations, ManyRequested } from '@belay/contract/elevation';
import { AccessError, type ErrorCode, invalid } from '@belay/contract/errors';
import { isOutage, outageMessage } from '@belay/contract/outage';
import { requireFreshGroups, requireUser } from '../actor.js';
import type { Catalog } from '../configuration/catalog.js';
import type { ActorContext } from '../context.js';
import { sharePatience } from '../share-patience.js';
import { requestElevation } from './request.js';

type Result = ManyRequested['results'][number];

/**
 * Requests several roles one after the other, each as `requestElevation` does and in a transaction of its own: an error of
 * one does not affect the others. With an idempotency key each role has a key of its own, so that a repeated call requests
 * nothing twice. Throws `invalid`, before any request, for an entry of `roles` that occurs twice.
 */
export async function requestManyElevations(
  ctx: ActorContext,
  input: ManyElevations & { idempotencyKey?: string | undefined },
): Promise<ManyRequested> {
  requireFreshGroups(requireUser(ctx));
  const { roles, reason, duration, idempotencyKey: key } = input;
  const wanted = roles.map((item) => ({ item, ...readItem(ctx.catalog.current(), item) }));
  if (new Set(wanted.map(({ item }) => item)).size !== wanted.length) {
    throw invalid('roles', 'must not name a role twice');
  }
  const results: Result[] = [];
  const inTurn = sharePatience(ctx);
  for (const { item, role, providers } of wanted) {
    const terms = {
      role,
      ...(providers === undefined ? {} : { providers }),
      ...(reason === undefined ? {} : { reason }),
      ...(duration === undefined ? {} : { duration }),
      ...(key === undefined ? {} : { idempotencyKey: digestOf({ key, item }) }),
    };
    results.push({ role, ...(await inTurn((one) => requestOne(one, terms))) });
  }
  const requested = results.filter(({ error }) => error === null).length;
  return { results, requested, rejected: results.length - requested };
}

/** Reads `<role>` or `<provider>:<role>`; the complete name of a role, which may contain a colon, takes precedence. */
function readItem(catalog: Catalog, item: string): { role: string; providers?: string[] } {
  const colon = item.indexOf(':');
  if (colon < 1 || catalog.roles.has(item)) return { role: item };
  return { role: item.slice(colon + 1), providers: [item.slice(0, colon)] };
}

async function requestOne(
  ctx: ActorContext,
  terms: Parameters<typeof requestElevation>[1],
): Promise<Omit<Result, 'role'>> {
  try {
    const { output } = await requestElevation(ctx, terms);
    return { execution_id: output.execution_id, error: null };
  } catch (error) {
    return { execution_id: null, error: describe(ctx, terms.role, error) };
  }
}

/** Returns an error as a result, also an unexpected one, because earlier requests stand. Its cause goes to the log only. */
function describe(ctx: ActorContext, role: string, error: unknown): { code: ErrorCode; message: string } {
  if (error instanceof AccessError) {
    const issues = error.issues?.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)) ?? [];
    return { code: error.code, message: issues.length > 0 ? issues.join('; ') : error.message };
  }
  if (isOutage(error)) return { code: 'unavailable', message: outageMessage };
  ctx.log.error({ role, error }, 'a request of several failed');
  return { code: 'internal', message: 'The request failed; try it again alone' };
}
