import { listOffered, type Offered } from '@belay/core';
import { clock, oneLine } from '@belay/program';
import type { ProviderClient, Weakness } from '@belay/providers';
import { compileConfiguration, type Refused } from '../config/compile-configuration.js';

export interface ProviderInspection {
  provider: string;
  type: string;
  /** Why the provider does not respond, for the operator; undefined when it responds. */
  fault: string | undefined;
  /** What in the provider's setup weakens the guarantees of Belay, when it responds. */
  weaknesses: Weakness[];
  /** What prevents roles of the configuration from being granted, as far as this can be checked without a change. */
  obstacles: (Weakness & { roles: string[] })[];
}

export type ConfigurationInspection =
  | { ok: true; callbacks: readonly string[]; providers: ProviderInspection[] }
  | Refused;

/**
 * Reads a configuration as a start would, and checks whether every enabled provider responds (`belay doctor`). Nothing is
 * stored, granted or revoked. `patience` bounds each check, in milliseconds.
 */
export function inspectConfiguration(
  path: string,
  variables: Record<string, string | undefined>,
  patience: number,
): Promise<ConfigurationInspection> {
  return compileConfiguration(path, variables, async (catalog) => {
    const { callbacks, providers } = catalog;
    const offered = listOffered(catalog);
    const inspections = [...providers.values()]
      .filter(({ config }) => config !== undefined)
      .map(async ({ id, connector, config }) => ({
        provider: id,
        type: connector.type,
        ...(await inspect(
          async () => connector.create(config, { now: () => clock().getTime(), log: () => {} }),
          offered.get(id) ?? [],
          patience,
        )),
      }));
    return { ok: true, callbacks, providers: await Promise.all(inspections) };
  });
}

type Inspectable = Pick<ProviderClient, 'check' | 'weaknesses' | 'obstacles' | 'close'>;

async function inspect(
  open: () => Promise<Inspectable>,
  offered: readonly Offered[],
  patience: number,
): Promise<Pick<ProviderInspection, 'fault' | 'weaknesses' | 'obstacles'>> {
  let client: Inspectable | undefined;
  try {
    client = await open();
    await client.check(AbortSignal.timeout(patience));
    const weaknesses = (await client.weaknesses?.(AbortSignal.timeout(patience))) ?? [];
    const accesses = offered.map(({ access }) => access);
    const found = (await client.obstacles?.(accesses, AbortSignal.timeout(patience))) ?? [];
    const obstacles = found.map(({ access, message, cure }) => ({
      message,
      cure,
      roles: offered.find((one) => one.access === access)?.roles ?? [],
    }));
    return { fault: undefined, weaknesses, obstacles };
  } catch (error) {
    return { fault: oneLine(error), weaknesses: [], obstacles: [] };
  } finally {
    await client?.close().catch(() => undefined);
  }
}
