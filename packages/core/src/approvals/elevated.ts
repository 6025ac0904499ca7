import { digestOf } from '@belay/contract/canonical';
import { AccessError } from '@belay/contract/errors';
import { knownIdentities } from '@belay/db';
import type { Identities, Person as Sought } from '@belay/providers';
import { and, gt, inArray, sql } from 'drizzle-orm';
import { addressOf } from '../catalog/targets.js';
import type { Person, Store } from '../context.js';
import { soughtBy } from '../people/admission.js';
import { endAfter } from '../share-patience.js';
import type { ApprovalSubject } from './inbox.js';

/** Recent responses to this process, by the client that sent them: the client of a new configuration starts without any. */
const told = new WeakMap<Identities, Map<string, { identity: string | null; at: number }>>();
const mostTold = 10_000;

/**
 * Returns whether an identity of a request is the approver's own at its provider, under any name. A provider is called
 * only for people that it was not called for recently; while it does not respond, its response within the last day
 * counts (decision 0071). Throws `unavailable` for a person about whom nothing is known: in doubt, no one decides on
 * their own request. With `lenient`, a disabled or removed provider need not respond: the person counts as having no
 * identity there.
 */
export async function wouldBeElevated(
  ctx: Store,
  faces: readonly Person[],
  { grants }: { grants: readonly Pick<ApprovalSubject['grants'][number], 'provider' | 'identity'>[] },
  { lenient = false } = {},
): Promise<boolean> {
  const providers = [...new Set(grants.map(({ provider }) => provider))];
  const found = await Promise.all(
    providers.map(async (provider) => {
      const own = await ownIdentities(ctx, { provider, faces, lenient });
      return grants.some((grant) => grant.provider === provider && own.has(grant.identity));
    }),
  );
  return found.includes(true);
}

/**
 * Returns whether an identity of a request is known to be the approver's own, by what their providers returned within the last day.
 * Calls no provider, so false may mean that nothing is known: `access.grant` asks before it grants.
 */
export async function isKnownToBeElevated(
  ctx: Store,
  faces: readonly Person[],
  { grants }: { grants: readonly Pick<ApprovalSubject['grants'][number], 'provider' | 'identity'>[] },
): Promise<boolean> {
  const now = ctx.clock().getTime();
  const silent: { key: string; provider: string }[] = [];
  for (const provider of new Set(grants.map((grant) => grant.provider))) {
    const identities = ctx.catalog.client(provider)?.identities;
    for (const key of (await keyed(ctx, provider, faces)).keys()) {
      const last = identities && told.get(identities)?.get(key);
      if (!last || Math.abs(now - last.at) >= ctx.timing.identity.fresh) silent.push({ key, provider });
      else if (grants.some((grant) => grant.provider === provider && grant.identity === last.identity)) return true;
    }
  }
  if (silent.length === 0) return false;
  const known = await readKnown(ctx, silent);
  return silent.some(({ key, provider }) =>
    grants.some((grant) => grant.provider === provider && grant.identity === known.get(key)),
  );
}

/** Returns the lookups of a person at a provider, by each of their identities, under their keys. */
async function keyed(ctx: Store, provider: string, faces: readonly Person[]): Promise<Map<string, Sought>> {
  const client = ctx.catalog.client(provider);
  if (client && !client.identities) return new Map();
  const address = addressOf(ctx.catalog.current().providers.get(provider));
  const sought = await Promise.all(faces.map((face) => soughtBy(ctx, client?.identities ?? {}, face)));
  return new Map(sought.map((one) => [keyOf(provider, address, one), one]));
}

/** Returns the accounts of a person at a provider, looked up by each of their identities; null for a lookup without a result. */
async function ownIdentities(
  ctx: Store,
  { provider, faces, lenient }: { provider: string; faces: readonly Person[]; lenient: boolean },
): Promise<Set<string | null>> {
  const compiled = ctx.catalog.current().providers.get(provider);
  const client = ctx.catalog.client(provider);
  const results = await Promise.all(
    [...(await keyed(ctx, provider, faces))].map(async ([key, one]) => ({
      key,
      ...(await askFor(ctx, client?.identities, key, one)),
    })),
  );
  const asked = results.flatMap(({ key, identity, fresh }) => (fresh ? [{ key, identity: identity ?? null }] : []));
  if (asked.length > 0) await store(ctx, asked);
  const silent = results.filter(({ identity }) => identity === undefined);
  const known = silent.length === 0 ? new Map<string, string | null>() : await readKnown(ctx, silent);
  for (const { key, cause } of silent) {
    if (known.has(key) || (lenient && !compiled?.enabled)) continue;
    throw new AccessError(
      'unavailable',
      `The provider "${provider}" cannot return your identity at the moment; try again`,
      {
        cause,
      },
    );
  }
  return new Set([...results.map(({ identity }) => identity ?? null), ...known.values()]);
}

/** Returns a key of all values that a lookup depends on: after a change of one of them, earlier responses do not count. */
function keyOf(provider: string, address: string | null, { email, name, subject, logins }: Sought): string {
  const more = logins ? [logins.map((login) => [login.provider, login.subject])] : [];
  return digestOf([provider, address, email, name, subject, ...more]);
}

interface Answer {
  /** Null when the person has no identity at the provider; undefined when the provider did not respond. */
  identity?: string | null;
  fresh?: true;
  cause?: unknown;
}

async function askFor(ctx: Store, identities: Identities | undefined, key: string, sought: Sought): Promise<Answer> {
  if (!identities) return {};
  const now = ctx.clock().getTime();
  const lately = told.get(identities) ?? new Map<string, { identity: string | null; at: number }>();
  told.set(identities, lately);
  const last = lately.get(key);
  if (last && Math.abs(now - last.at) < ctx.timing.identity.fresh) return { identity: last.identity };
  try {
    const found = await identities.find(sought, endAfter(ctx.timing.earlyCheck));
    const identity = found?.id ?? null;
    if (lately.size >= mostTold) lately.clear();
    lately.set(key, { identity, at: now });
    return { identity, fresh: true };
  } catch (cause) {
    return { cause };
  }
}

async function store(ctx: Store, asked: readonly { key: string; identity: string | null }[]): Promise<void> {
  await ctx.db
    .insert(knownIdentities)
    .values([...asked])
    .onConflictDoUpdate({
      target: knownIdentities.key,
      set: { identity: sql`excluded.identity`, seenAt: sql`app_now()` },
    });
}

async function readKnown(ctx: Store, silent: readonly { key: string }[]): Promise<Map<string, string | null>> {
  const { known } = ctx.timing.identity;
  const rows = await ctx.db
    .select({ key: knownIdentities.key, identity: knownIdentities.identity })
    .from(knownIdentities)
    .where(
      and(
        inArray(
          knownIdentities.key,
          silent.map(({ key }) => key),
        ),
        gt(knownIdentities.seenAt, sql`app_now() - ${`${known} milliseconds`}::interval`),
      ),
    );
  return new Map(rows.map(({ key, identity }) => [key, identity]));
}
