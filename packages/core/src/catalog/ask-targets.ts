import type { ErrorIssue } from '@belay/contract/errors';
import type { Database } from '@belay/db';
import type { Catalog, CompiledProvider } from '../configuration/catalog.js';
import { timing } from '../timing.js';
import { publicMessage } from './authorizer.js';
import { type AskedTargets, isMoved, lookAtTargets, type Place, selectPlaces } from './targets.js';

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
        if (provider) asked.set(id, await askTarget(provider));
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

async function askTarget(provider: CompiledProvider): Promise<{ target: string } | { reason: string }> {
  if (provider.config === undefined) return { reason: 'its configuration is not complete' };
  try {
    // A client for one call needs no clock.
    const client = await provider.connector.create(provider.config, { now: () => 0, log: () => {} });
    try {
      const target = await client.authorizer?.target(AbortSignal.timeout(timing.targetCheck));
      return target === undefined ? { reason: 'it has no target' } : { target };
    } finally {
      await client.close().catch(() => undefined);
    }
  } catch (error) {
    return { reason: publicMessage(error) };
  }
}
