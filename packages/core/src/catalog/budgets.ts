import { parseDuration } from '@belay/contract/durations';
import { type Database, execute, providerPauses, rawText, sqlText } from '@belay/db';
import { type Budget, createBudget, type Pause } from '@belay/providers';
import { z } from 'zod';
import type { CompiledProvider } from '../configuration/catalog.js';
import type { Logger } from '../context.js';
import { ledgerChannel } from '../ledger/append.js';

/** The payload of the notification that a pause has begun; other payloads of its channel are ids of executions. */
export const pausesChanged = 'provider_pauses';

/** Selects, as a JSON text, the pauses that have not ended. */
export const selectPauses = sqlText`(
  select coalesce(json_agg(json_build_object('provider', provider, 'family', family, 'scope', scope,
    'milliseconds', extract(epoch from until - app_now()) * 1000)), '[]')::text
  from ${providerPauses} where until > app_now())`;

const pausesSchema = z.array(
  z.object({ provider: z.string(), family: z.string(), scope: z.enum(['all', 'ordinary']), milliseconds: z.number() }),
);

/** The budgets of the providers in this process. */
export interface Budgets {
  create(provider: CompiledProvider): Budget;
  /** Applies the result of `selectPauses` to the budgets, and to those that are created later. */
  hear(pauses: string): void;
}

interface Options {
  db: Database;
  log: Logger;
  now(): number;
}

/** Creates the budgets of the providers, which the processes share by rows: a pause that one was told holds for all of them. */
export function createBudgets({ db, log, now }: Options): Budgets {
  const budgets = new Map<string, Budget>();
  let latest: z.infer<typeof pausesSchema> = [];

  return {
    create({ id, definition }) {
      const { most, per, reserved = 20 } = definition.calls ?? {};
      const part = reserved / 100;
      const limit = most === undefined ? undefined : { most, per: parseDuration(per ?? 'PT1H'), reserved: part };
      const budget = createBudget({
        now,
        reserved: part,
        tell: (pause) =>
          void tell(db, id, pause).catch((error: unknown) =>
            log.warn({ provider: id, error }, 'a pause of a provider could not be told to other processes'),
          ),
        ...(limit && { lease: (urgent) => lease(db, { provider: id, urgent, ...limit }) }),
      });
      budget.heard(latest.filter(({ provider }) => provider === id));
      budgets.set(id, budget);
      return budget;
    },
    hear(pauses) {
      latest = pausesSchema.parse(JSON.parse(pauses));
      for (const [id, budget] of budgets) budget.heard(latest.filter(({ provider }) => provider === id));
    },
  };
}

async function tell(db: Database, provider: string, { family, scope, milliseconds }: Pause): Promise<void> {
  await execute(
    db,
    sqlText`
    with paused as (
      insert into ${providerPauses} as p (provider, family, scope, until)
      values (${provider}, ${family}, ${scope}, app_now() + ${`${milliseconds} milliseconds`}::interval)
      on conflict (provider, family, scope) do update set until = greatest(p.until, excluded.until)
      returning provider)
    select pg_notify(${rawText(`'${ledgerChannel}'`)}, ${rawText(`'${pausesChanged}'`)}) from paused`,
  );
}

interface Lease {
  provider: string;
  urgent: boolean;
  most: number;
  /** Milliseconds. */
  per: number;
  reserved: number;
}

/** The part of a configured limit that a process takes at once. */
const block = 1 / 50;

async function lease(db: Database, { provider, urgent, most, per, reserved }: Lease) {
  const kept = urgent ? 0 : Math.ceil(most * reserved);
  const [row] = await execute<{ taken: number; wait: number }>(
    db,
    sqlText`select taken, wait from lease_calls(${provider}, ${most}::int, ${per}::float8, ${kept}::int, ${Math.ceil(most * block)}::int)`,
  );
  return row ?? { taken: 0, wait: 0 };
}
