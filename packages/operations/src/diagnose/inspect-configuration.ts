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
        offered: offered.get(id) ?? [],
        ...(await inspect(
          async () => connector.create(config, { now: () => clock().getTime(), log: () => {} }),
          offered.get(id) ?? [],
          patience,
        )),
      }));
    return { ok: true, callbacks, providers: nameShared(await Promise.all(inspections)) };
  });
}

/** What is known of a provider when its target is compared with those of the others. */
type Inspected = ProviderInspection & { offered: readonly Offered[]; realm: string | undefined };

/** How many accesses a line names. */
const mostNamed = 3;

/** Adds a line to each provider whose target is, by its fingerprint, that of an earlier provider (R8). */
function nameShared(inspected: readonly Inspected[]): ProviderInspection[] {
  return inspected.map(({ offered, realm, ...inspection }, index) => {
    const earlier = inspected
      .slice(0, index)
      .filter((one) => realm !== undefined && one.realm === realm && one.type === inspection.type);
    const found = earlier.map((one) => sharedTarget(one, offered));
    return { ...inspection, weaknesses: [...inspection.weaknesses, ...found] };
  });
}

function sharedTarget(earlier: Inspected, offered: readonly Offered[]): Weakness {
  const known = new Set(earlier.offered.map(({ access }) => JSON.stringify(access)));
  const both = offered.map(({ access }) => access).filter((access) => known.has(JSON.stringify(access)));
  const message = `leads to the same target as "${earlier.provider}", or to a copy of it`;
  if (both.length === 0) {
    return {
      message: `${message}; no access is in roles of both`,
      cure: 'nothing, while that is so: the same access is held through one provider at a time',
    };
  }
  const more = both.length > mostNamed ? ` and ${both.length - mostNamed} more` : '';
  const named = both.slice(0, mostNamed).map((access) => Object.values(access).map(String).join(' '));
  return {
    message: `${message}, and roles of both grant ${named.join(', ')}${more}: a person holds that through one of them at a time`,
    cure: 'let roles name it at one provider only',
  };
}

type Inspectable = Pick<ProviderClient, 'authorizer' | 'check' | 'weaknesses' | 'obstacles' | 'close'>;

async function inspect(
  open: () => Promise<Inspectable>,
  offered: readonly Offered[],
  patience: number,
): Promise<Pick<Inspected, 'fault' | 'weaknesses' | 'obstacles' | 'realm'>> {
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
    return { fault: undefined, weaknesses, obstacles, realm: await readRealm(client, patience) };
  } catch (error) {
    return { fault: oneLine(error), weaknesses: [], obstacles: [], realm: undefined };
  } finally {
    await client?.close().catch(() => undefined);
  }
}

async function readRealm({ authorizer }: Inspectable, patience: number): Promise<string | undefined> {
  const target = await authorizer?.target(AbortSignal.timeout(patience));
  return target === undefined ? undefined : (authorizer?.realm?.(target) ?? target);
}
