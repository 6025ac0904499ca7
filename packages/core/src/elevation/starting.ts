import { definitions, executions, grants, logins, steps } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';
import { TURN } from '../executions/runtime/turn-row.js';
import { appending, type LedgerEntry } from '../ledger/append.js';

export interface Starting {
  id: string;
  workflow: { name: string; digest: string };
  catalogVersion: number;
  owner: { id: string; loginId: string };
  /** How many requests a person may have open: those that have not ended, and those that have and whose access has not. */
  limit: number;
  input: object;
  entry: LedgerEntry;
  /** For how many milliseconds the caller alone takes the first turn. */
  lease: number;
}

/** What came of it: the login had ended, or too many requests were open, or it is started. */
export interface Started extends Record<string, unknown> {
  live: boolean;
  open: number;
}

/**
 * Starts an execution in one statement, when its owner's login is live and they have room for it; it has no state before its
 * first turn, which a worker takes. The owner's row is locked before, so that requests made at once are counted one after
 * the other.
 */
export function startingExecution(starting: Starting): SQL {
  const { id, workflow, catalogVersion, owner, limit, input, entry, lease } = starting;
  return sql`
    with asked as (
      select exists (select from ${logins} where ${logins.id} = ${owner.loginId} and ${logins.expiresAt} > app_now()) as live,
        ((select count(*) from ${executions} where ${executions.ownerId} = ${owner.id} and ${executions.endedAt} is null)
        + (select count(distinct ${grants.executionId}) from ${grants}
          join ${executions} on ${executions.id} = ${grants.executionId}
          where ${grants.userId} = ${owner.id} and ${grants.endedAt} is null and ${grants.expiresAt} > app_now()
            and ${executions.endedAt} is not null))::int as open),
    started as (
      insert into ${executions} (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, started_at)
      select ${id}::uuid, ${workflow.name}::text,
        -- Null, and so rejected, where a database that was restored does not have it.
        (select ${definitions.digest} from ${definitions} where ${definitions.digest} = ${workflow.digest}),
        ${catalogVersion}::int, ${owner.id}::uuid, ${JSON.stringify(input)}::text::jsonb, 'pending', '{}'::jsonb, app_now()
      from asked where live and open < ${limit}::int
      returning id),
    turn as (
      insert into ${steps} (execution_id, key, kind, status, request, attempt, due_at, lease_until)
      select id, ${TURN}::text, 'turn', 'open', '{}'::jsonb, 1, app_now(),
        case when ${lease}::int > 0 then app_now() + ${`${lease} milliseconds`}::interval end
      from started),
    ${appending([entry], sql`started`)}
    select live, open, (select count(*) from notified) from asked`;
}
