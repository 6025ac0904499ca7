import type { Access } from '@belay/providers';
import type { Catalog } from '../configuration/catalog.js';
import type { CatalogSource, Logger } from '../context.js';
import { untilStopped } from '../until-stopped.js';

/**
 * How old a result may be, in milliseconds, before `count` starts a new check. For a new version of the catalog it
 * starts one at once.
 */
const age = 10 * 60_000;
/** How many accesses of one provider are checked, and how many roles a line of the log names. */
const mostAsked = 500;
const mostNamed = 5;

/** An access that roles of the configuration grant. */
export interface Offered {
  access: Access;
  roles: string[];
}

/** Returns the accesses that the enabled roles grant at each provider, every access once. */
export function listOffered({ roles }: Pick<Catalog, 'roles'>): Map<string, Offered[]> {
  const offered = new Map<string, Map<string, Offered>>();
  for (const { name, enabled, accesses } of roles.values()) {
    if (!enabled) continue;
    for (const [provider, granted] of accesses) {
      const there = offered.get(provider) ?? new Map<string, Offered>();
      offered.set(provider, there);
      for (const access of granted) {
        const key = JSON.stringify(access);
        const known = there.get(key);
        if (known) known.roles.push(name);
        else there.set(key, { access, roles: [name] });
      }
    }
  }
  return new Map([...offered].map(([provider, there]) => [provider, [...there.values()]]));
}

interface ObstacleWatch {
  /** Checks every provider now, or joins the check that is running; resolves when each has responded or has run out of time. */
  look(): Promise<void>;
  /**
   * Returns how many providers would not grant a role, by the latest check. Does not wait: when that check is old, a new one starts
   * in the background.
   */
  count(): number;
}

interface WatchOptions {
  catalog: CatalogSource;
  log: Logger;
  /** How long one provider may take, in milliseconds. */
  timeout: number;
  /** The process's own clock, in milliseconds. */
  now(): number;
}

/**
 * Creates the watch on what connections cannot grant (decision 0142). It logs one line for each provider, with the names of the
 * roles, and repeats the line only when it changes. A provider that does not respond keeps its latest result.
 */
export function watchObstacles({ catalog, log, timeout, now }: WatchOptions): ObstacleWatch {
  /** The line of each provider that has obstacles. */
  const found = new Map<string, string>();
  let looked: { at: number; version: number } | undefined;
  let looking: Promise<void> | undefined;

  async function lookAt(provider: string, offered: readonly Offered[]): Promise<void> {
    const client = catalog.client(provider);
    if (!client?.obstacles) return void found.delete(provider);
    try {
      const asked = offered.slice(0, mostAsked);
      const signal = AbortSignal.timeout(timeout);
      const accesses = asked.map(({ access }) => access);
      const obstacles = await untilStopped(client.obstacles(accesses, signal), signal);
      if (obstacles.length === 0) return void found.delete(provider);
      const roles = asked.flatMap((one) => (obstacles.some(({ access }) => access === one.access) ? one.roles : []));
      const line = `"${provider}" would not grant ${nameRoles([...new Set(roles)])}: ${obstacles[0]?.message}`;
      if (found.get(provider) !== line)
        log.warn({ provider, obstacles: obstacles.length }, `${line}; see belay doctor`);
      found.set(provider, line);
    } catch (error) {
      log.debug({ provider, error }, 'a provider did not report what it would not grant');
    }
  }

  async function lookAtAll(): Promise<void> {
    const current = catalog.current();
    looked = { at: now(), version: current.version };
    const offered = listOffered(current);
    const enabled = new Set([...current.providers.values()].flatMap(({ id, enabled }) => (enabled ? [id] : [])));
    for (const provider of found.keys()) if (!offered.has(provider) || !enabled.has(provider)) found.delete(provider);
    await Promise.all([...offered].map(async ([id, there]) => enabled.has(id) && lookAt(id, there)));
  }

  function look(): Promise<void> {
    looking ??= lookAtAll().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  return {
    look,
    count() {
      const old = looked === undefined || now() - looked.at >= age || looked.version !== catalog.current().version;
      if (old) look().catch((error: unknown) => log.warn({ error }, 'what providers would not grant is not known'));
      return found.size;
    },
  };
}

function nameRoles(roles: readonly string[]): string {
  const more = roles.length > mostNamed ? ` and ${roles.length - mostNamed} more` : '';
  return `${roles.slice(0, mostNamed).join(', ')}${more}`;
}
