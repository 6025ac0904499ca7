import { type Catalog, compareRoles, type Replay, type RoleChange, replayRequests } from '@belay/core';
import { createExpressionPool, type Evaluate } from '@belay/workflow';
import { compileOffline, type Refused } from '../config/compile-configuration.js';
import type { OperatorContext } from '../operator.js';
import { readStandIns } from './read-cases.js';

/** The effects of a change from one configuration to another. */
export type Plan = { ok: true; roles: RoleChange[]; systems: SystemChange[]; past: Replay | null } | Refused;

/** A provider whose settings differ, so that Belay may no longer be able to revoke access that people hold there. */
export interface SystemChange {
  provider: string;
  change: 'added' | 'removed' | 'changed';
}

export interface PlanOptions {
  variables: Record<string, string | undefined>;
  /** Where requests of the past are read from, since when, and how many at most. */
  past?: { open(): Promise<OperatorContext>; since: Date; limit: number } | undefined;
}

/**
 * Compares two configurations by their effect on requests (`belay plan`): both are compiled without their vaults, and
 * requests are rehearsed under each (decision 0128). With `past`, requests of the database are rehearsed too. Stand-ins
 * for variables and secrets come from the policy cases. Nothing is written or called.
 */
export async function planConfiguration(
  path: string,
  against: string,
  { variables, past }: PlanOptions,
): Promise<Plan> {
  const standIns = { ...(await readStandIns(against)), ...(await readStandIns(path)) };
  const known = { variables, standIns };
  const compiled = await compileOffline(against, known, (catalog) => ({ ok: true as const, catalog }));
  if (!compiled.ok) return compiled;
  const before = compiled.catalog;
  return compileOffline(path, known, async (after) => {
    const pool = createExpressionPool();
    try {
      return {
        ok: true as const,
        roles: await compareRoles(before, after, pool.evaluate),
        systems: compareSystems(before, after),
        past: past ? await replay(before, after, pool.evaluate, past) : null,
      };
    } finally {
      await pool.close();
    }
  });
}

async function replay(
  before: Catalog,
  after: Catalog,
  evaluate: Evaluate,
  { open, since, limit }: NonNullable<PlanOptions['past']>,
): Promise<Replay> {
  const { context, close } = await open();
  try {
    return await replayRequests({ db: context.db, evaluate }, { before, after, since, limit });
  } finally {
    await close();
  }
}

function compareSystems(before: Catalog, after: Catalog): SystemChange[] {
  const names = new Set([...before.providers.keys(), ...after.providers.keys()]);
  return [...names].sort().flatMap((provider): SystemChange[] => {
    const [one, other] = [before, after].map((catalog) => {
      const found = catalog.providers.get(provider);
      return found?.enabled ? JSON.stringify(found.definition) : undefined;
    });
    if (one === other) return [];
    return [{ provider, change: one === undefined ? 'added' : other === undefined ? 'removed' : 'changed' }];
  });
}
