import { definitions, executions, type SqlText, sqlText, steps, userIdentities } from '@belay/db';
import { claimText } from '../executions/runtime/lost-claims.js';
import { TURN } from '../executions/runtime/turn-row.js';
import { appending, type LedgerEntry } from '../ledger/append.js';

export interface Starting {
  id: string;
  workflow: { name: string; digest: string };
  catalogVersion: number;
  owner: { id: string; loginId: string; provider: string; subject: string };
  /** How many requests a person may have open: those that have not ended, and those that have and whose access has not. */
  limit: number;
  /** Without the time of the request, which is the database's. */
  input: object;
  entry: LedgerEntry;
  /** For how many milliseconds the caller alone takes the first turn, and the id of that claim. */
  lease: number;
  claimId: string;
}

/** What came of it: the login had ended, or too many requests were open, or it is started. */
export interface Started {
  live: boolean;
  open: number;
  /** When, as the input says it. */
  requested: string;
  /** The owner under the identity of the request, as JSON; null when there is none. */
  requester: string | null;
}

/**
 * Starts an execution in one statement, when its owner's login is live and they have room for it; it has no state before its
 * first turn, which a worker takes. `admit_request` locks the owner's row before it counts, so that requests made at once are
 * counted one after the other.
 */
export function startingExecution(starting: Starting): SqlText {
  const { id, workflow, catalogVersion, owner, limit, input, entry, lease, claimId } = starting;
  const requested = sqlText`to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  return sqlText`
    with asked as materialized (select live, open from admit_request(${owner.id}::uuid, ${owner.loginId}::uuid)),
    started as (
      insert into ${executions} (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, started_at)
      select ${id}::uuid, ${workflow.name}::text,
        -- Null, and so rejected, where a database that was restored does not have it.
        (select ${definitions.digest} from ${definitions} where ${definitions.digest} = ${workflow.digest}),
        ${catalogVersion}::int, ${owner.id}::uuid, ${JSON.stringify(input)}::text::jsonb
          || jsonb_build_object('requested_at', ${requested}),
        'pending', '{}'::jsonb, app_now()
      from asked where live and open < ${limit}::int
      returning id),
    turn as (
      insert into ${steps} (execution_id, key, kind, status, request, attempt, due_at, lease_until, claim)
      select id, ${TURN}::text, 'turn', 'open', '{}'::jsonb, 1, app_now(),
        case when ${lease}::int > 0 then app_now() + ${`${lease} milliseconds`}::interval end, ${claimText(claimId, 1)}
      from started),
    ${appending([entry], sqlText`started`)}
    select live, open, ${requested} as requested, (
      select json_build_object('email', email, 'groups', groups, 'organizations', organizations)::text from ${userIdentities}
      where ${userIdentities.userId} = ${owner.id} and ${userIdentities.provider} = ${owner.provider}
        and ${userIdentities.subject} = ${owner.subject}) as requester,
      (select count(*) from notified) from asked`;
}
