import { readFile } from 'node:fs/promises';

/** Returns the entries of a list in a kubeconfig, by name. */
function byName(list: unknown, field: string): Map<string, Record<string, unknown>> {
  const entries: unknown[] = Array.isArray(list) ? list : [];
  return new Map(
    entries.flatMap((entry): [string, Record<string, unknown>][] => {
      if (typeof entry !== 'object' || entry === null || !('name' in entry)) return [];
      const value: unknown = (entry as Record<string, unknown>)[field];
      return typeof value === 'object' && value !== null
        ? [[String(entry.name), value as Record<string, unknown>]]
        : [];
    }),
  );
}

function isSameAddress(one: unknown, other: string): boolean {
  const [left, right] = [String(one), other].map((text) => (URL.canParse(text) ? new URL(text).href : undefined));
  return left !== undefined && left === right;
}

/**
 * Returns the user for the cluster with this address from the person's kubeconfig: the user of the current context, or
 * else the only user in all contexts of the cluster. Undefined when there are several users or no user, or when the
 * file cannot be read.
 */
export async function findUser(file: string, server: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // Loaded on demand: other commands start faster without it.
  const { parse } = await import('yaml');
  let config: unknown;
  try {
    config = parse(text, { logLevel: 'silent' });
  } catch {
    return undefined;
  }
  if (typeof config !== 'object' || config === null) return undefined;
  const { clusters, contexts, 'current-context': current } = config as Record<string, unknown>;
  const addresses = byName(clusters, 'cluster');
  const here = new Map(
    [...byName(contexts, 'context')].flatMap(([name, { cluster, user }]): [string, string][] => {
      const found = isSameAddress(addresses.get(String(cluster))?.server, server);
      return found && typeof user === 'string' && user !== '' ? [[name, user]] : [];
    }),
  );
  const users = new Set(here.values());
  return here.get(String(current)) ?? (users.size === 1 ? [...users][0] : undefined);
}
