import { digestOf } from '@belay/contract/canonical';
import type { ErrorIssue } from '@belay/contract/errors';
import { type Database, entitlements, grants, inOrder, type Transaction } from '@belay/db';
import { and, asc, count, eq, inArray, isNull, max, ne } from 'drizzle-orm';
import type { Catalog, CompiledProvider } from '../configuration/catalog.js';

/**
 * The target of a provider with a new address, or the reason why it could not be read. `doubt`: what shows that the server may be
 * another one with the target's fingerprint, as the end of "The server …".
 */
export type AskedTarget = { target: string; doubt?: string } | { reason: string };
export type AskedTargets = Map<string, AskedTarget>;

/** How many holders an error lists. */
const mostListed = 10;

/**
 * Returns the digest of the address in a provider's configuration; null when the configuration is not complete or has
 * no address.
 */
export function addressOf(provider: CompiledProvider | undefined): string | null {
  if (provider?.config === undefined || !provider.connector.address) return null;
  return digestOf([provider.connector.type, provider.connector.address(provider.config)]);
}

/**
 * Returns why a configuration cannot come into force while access is held (R4, R7): it removes a provider, makes one unusable, or leads to
 * another target. Returns `unasked` when the target of a provider must be read first. `places` are the providers where access is held.
 */
export async function lookAtTargets(
  db: Database | Transaction,
  catalog: Catalog,
  asked: AskedTargets,
  places: readonly Place[],
): Promise<'unasked' | { issues: ErrorIssue[] }> {
  const faults = new Map<string, ErrorIssue>();
  for (const place of places) {
    const { provider: id } = place;
    const provider = catalog.providers.get(id);
    if (!provider?.connector.plan) {
      const message =
        'cannot be removed while its access is not settled; keep the provider with enabled: false until then';
      faults.set(id, { path: `providers.${id}`, message });
    } else if (provider.config === undefined) {
      const message = 'must be complete while access is held at this provider: without it nothing can be revoked';
      faults.set(id, { path: `providers.${id}.config`, message });
    } else if (isMoved(place, catalog)) {
      const answer = asked.get(id);
      if (!answer) return 'unasked';
      const message = describeMoved(answer, place);
      if (message === null) continue;
      faults.set(id, { path: `providers.${id}.config`, message });
    }
  }
  const issues: ErrorIssue[] = [];
  for (const [id, { path, message }] of faults) {
    issues.push({ path, message: `${message}. Access held: ${await listHolders(db, id)}` });
  }
  return { issues };
}

/** Returns why a new address cannot come into force while access is held; null when it leads to the same server. */
function describeMoved(answer: AskedTarget, { target }: Place): string | null {
  if ('reason' in answer)
    return `has a new address whose target cannot be read (${answer.reason}), while access is held at the old one`;
  if (answer.target !== target) return 'leads to another target than the one where access is held';
  if (answer.doubt === undefined) return null;
  return `has a new address whose server ${answer.doubt}, while access is held at the old one`;
}

/** Stores the new addresses that lead to the same target, so that the next change does not have to reach the provider. */
export async function storeAddresses(tx: Transaction, catalog: Catalog, asked: AskedTargets): Promise<void> {
  for (const [id, answer] of [...asked].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!('target' in answer)) continue;
    const there = and(
      eq(entitlements.provider, id),
      eq(entitlements.target, answer.target),
      ne(entitlements.state, 'absent'),
    );
    const rows = await tx
      .select({ id: entitlements.id })
      .from(entitlements)
      .where(there)
      .orderBy(asc(entitlements.id))
      .for('update');
    if (rows.length === 0) continue;
    await tx
      .update(entitlements)
      .set({ address: addressOf(catalog.providers.get(id)) })
      .where(
        inArray(
          entitlements.id,
          rows.map((row) => row.id),
        ),
      );
  }
}

export interface Place {
  provider: string;
  target: string;
  address: string | null;
}

/** Returns the query of the providers, with target and address, where Belay may hold access. */
export function selectPlaces(db: Database | Transaction) {
  return db
    .selectDistinct({
      provider: entitlements.provider,
      target: entitlements.target,
      address: entitlements.address,
    })
    .from(entitlements)
    .where(ne(entitlements.state, 'absent'));
}

/**
 * Returns whether a configuration gives a provider another address than the row has; true also for a row without an
 * address.
 */
export function isMoved({ provider, address }: Place, catalog: Catalog): boolean {
  return address === null || address !== addressOf(catalog.providers.get(provider));
}

/**
 * Returns who holds what at a provider, and until when: the oldest `mostListed` first, then the number of the others.
 */
async function listHolders(db: Database | Transaction, provider: string): Promise<string> {
  const held = and(eq(entitlements.provider, provider), ne(entitlements.state, 'absent'));
  const [[all], rows] = await inOrder([
    db.select({ count: count() }).from(entitlements).where(held),
    db
      .select({ identity: entitlements.identity, access: entitlements.access, until: max(grants.expiresAt) })
      .from(entitlements)
      .leftJoin(grants, and(eq(grants.entitlementId, entitlements.id), isNull(grants.goneAt)))
      .where(held)
      .groupBy(entitlements.id)
      .orderBy(asc(entitlements.id))
      .limit(mostListed),
  ]);
  const listed = rows.map(({ identity, access, until }) => {
    const what = Object.values(access).map(String).join(' ');
    return `${what} by ${identity}${until ? ` until ${until.toISOString()}` : ''}`;
  });
  const more = (all?.count ?? 0) - listed.length;
  return [...listed, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
