import type { ErrorIssue } from '@belay/contract/errors';
import { type Database, entitlements } from '@belay/db';
import type { Authorizer, History } from '@belay/providers';
import { and, eq, isNotNull, ne } from 'drizzle-orm';
import type { Catalog, CompiledProvider } from '../configuration/catalog.js';
import { timing } from '../timing.js';
import { publicMessage } from './authorizer.js';
import { doubts, judge, type Verdict } from './judge.js';
import { readMemory } from './read-memory.js';
import { type AskedTarget, type AskedTargets, isMoved, lookAtTargets, type Place, selectPlaces } from './targets.js';

/**
 * Reads into `asked` the target of each provider where access is held and whose address differs in `catalog`: another
 * address can lead to the same target, for example after a host was renamed. Skips providers whose target was already
 * read. Takes a few seconds at most, and never throws the error of a provider. Returns the places where access is held.
 */
export async function askTargets(db: Database, catalog: Catalog, asked: AskedTargets): Promise<Place[]> {
  const places = await selectPlaces(db);
  const moved = new Set(places.filter((place) => isMoved(place, catalog)).map(({ provider }) => provider));
  await Promise.all(
    [...moved]
      .filter((id) => !asked.has(id))
      .map(async (id) => {
        const provider = catalog.providers.get(id);
        if (provider) asked.set(id, await askTarget(db, provider));
      }),
  );
  return places;
}

/**
 * Returns why this process cannot use the configuration in force, read with its own environment; see `lookAtTargets`.
 */
export async function checkTargets(db: Database, catalog: Catalog): Promise<ErrorIssue[]> {
  const asked: AskedTargets = new Map();
  for (;;) {
    const before = asked.size;
    const places = await askTargets(db, catalog, asked);
    // Access may be granted at more providers while targets are read.
    const found = await lookAtTargets(db, catalog, asked, asked.size > before ? await selectPlaces(db) : places);
    if (found !== 'unasked') return found.issues;
  }
}

/** Returns the target of a provider's new address, with why its server cannot be told from a copy of it, if so. */
async function askTarget(db: Database, provider: CompiledProvider): Promise<AskedTarget> {
  if (provider.config === undefined) return { reason: 'its configuration is not complete' };
  try {
    // A client for one call needs no clock.
    const client = await provider.connector.create(provider.config, { now: () => 0, log: () => {} });
    try {
      const signal = AbortSignal.timeout(timing.targetCheck);
      const { authorizer } = client;
      if (!authorizer) return { reason: 'it has no target' };
      if (!authorizer.history) return { target: await authorizer.target(signal) };
      return await askServer(db, authorizer.history, signal);
    } finally {
      await client.close().catch(() => undefined);
    }
  } catch (error) {
    return { reason: publicMessage(error) };
  }
}

/**
 * Returns the target at a new address. A copy of it has the same fingerprint, so its server must have the mark that Belay wrote last at
 * the address where the access is held. Where a target has no room for a mark, the position is all that can tell.
 */
async function askServer(db: Database, history: History<Authorizer>, signal: AbortSignal): Promise<AskedTarget> {
  let doubt: string | undefined;
  const target = await history
    .trusting(async (look) => {
      // The mark may be renewed between the two looks.
      for (let looks = 1; looks <= 2; looks += 1) {
        const { target: here } = await look();
        const [memory, positions] = [await readMemory(db, here), await readPositions(db, here)];
        const seen = await look();
        const verdicts = [null, ...positions].map((row) => judge(history.compare, seen, { memory, row, latest: null }));
        doubt = verdicts.flatMap((verdict) => doubtOf(verdict, history.mark !== undefined))[0];
        if (doubt === undefined) return;
      }
    })
    .target(signal);
  return doubt === undefined ? { target } : { target, doubt };
}

/** Returns why a server is not that of a target, in a list of one; an empty list for the right one. */
function doubtOf(verdict: Verdict, marks: boolean): string[] {
  if (verdict.is === 'doubted') return [doubts[verdict.doubt].says];
  return verdict.marked || !marks ? [] : [doubts.mark_missing.says];
}

/** Returns the positions at which the access that is held at a target was last read back. */
async function readPositions(db: Database, target: string): Promise<string[]> {
  const { position, state } = entitlements;
  const held = and(eq(entitlements.target, target), ne(state, 'absent'), isNotNull(position));
  const rows = await db.selectDistinct({ position }).from(entitlements).where(held);
  return rows.flatMap((row) => row.position ?? []);
}
