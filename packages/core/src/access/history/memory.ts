import { entitlements, execute, rawText, type SqlText, sqlText, type Transaction, targets } from '@belay/db';
import { anyMark, type Doubt, doubts, type Memory } from '../../catalog/judge.js';
import type { Store } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';

/** What a claim remembers of the target of its row, and of the row itself. */
export interface Remembered {
  memory: Memory | null;
  row: string | null;
}

/** Returns the column of a claim with what is remembered, as text, for a row of `entitlements` with this alias. */
export function rememberedOf(alias: string): SqlText {
  const row = rawText(alias);
  return sqlText`json_build_object('row', ${row}.position, 'memory', (
    select json_build_object('position', t.position, 'mark', t.mark, 'nextMark', t.next_mark, 'doubt', t.doubt)
    from ${targets} t where t.target = ${row}.target))::text`;
}

/** Stores that the server of a target is not believed, once while it lasts, and tells the ledger. A lasting doubt stays. */
export async function noteDoubt(
  ctx: Store,
  { provider, target, doubt }: { provider: string; target: string; doubt: Doubt },
): Promise<void> {
  const lasting = Object.entries(doubts).flatMap(([name, { lasts }]) => (lasts ? [name] : []));
  const noted = await ctx.db.transaction(async (tx) => {
    const rows = await execute<{ target: string }>(
      tx,
      sqlText`
      insert into ${targets} as t (target, doubt, doubted_at) values (${target}, ${doubt}, app_now())
      on conflict (target) do update set doubt = excluded.doubt, doubted_at = coalesce(t.doubted_at, excluded.doubted_at)
        where t.doubt is distinct from excluded.doubt and coalesce(t.doubt, '') <> all (${`{${lasting.join(',')}}`}::text[])
      returning t.target`,
    );
    if (rows.length === 0) return false;
    await appendLedger(tx, [
      {
        type: 'target.doubted',
        level: 'error',
        message: `Nothing is granted or settled at ${provider}: the server that responded ${doubts[doubt].says}`,
        actor: { kind: 'system', name: 'targets' },
        provider,
        data: { target, doubt },
      },
    ]);
    return true;
  });
  if (noted)
    ctx.log.error({ provider, target, doubt }, `the server of a target is not believed: it ${doubts[doubt].says}`);
}

/** Stores that the server of a target is believed again. */
export async function endDoubt(
  ctx: Store,
  { provider, target, doubt }: { provider: string; target: string; doubt: string },
): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const rows = await execute<{ target: string }>(
      tx,
      sqlText`update ${targets} set doubt = null, doubted_at = null where target = ${target} and doubt = ${doubt} returning target`,
    );
    if (rows.length === 0) return;
    await appendLedger(tx, [
      {
        type: 'target.believed',
        message: `The address of ${provider} leads to the right server again`,
        actor: { kind: 'system', name: 'targets' },
        provider,
        data: { target, doubt },
      },
    ]);
  });
}

/**
 * Accepts a fork of a target's history that has Belay's mark, and makes everything due whose result was recorded after the mark was
 * written, also what is recorded as gone: the server may lack it. Does nothing when another process accepted it.
 */
export async function acceptFork(
  ctx: Store,
  { provider, target, memory, position }: { provider: string; target: string; memory: Memory; position: string },
): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [accepted] = await execute<{ since: string }>(
      tx,
      sqlText`
      update ${targets} set position = ${position} where target = ${target}
        and position is not distinct from ${memory.position}::text and mark is not distinct from ${memory.mark}::text
      returning coalesce(marked_at, next_at) as since`,
    );
    if (!accepted) return;
    const reopened = await reopen(tx, target, sqlText`and e.recorded_at >= ${accepted.since}::timestamptz`);
    // The result of a call that was read back before the fork does not count: its row is not as the claim left it.
    await execute(
      tx,
      sqlText`update ${entitlements} set due_at = app_now() where target = ${target} and state in ('granting', 'revoking')`,
    );
    await appendLedger(tx, [
      {
        type: 'target.forked',
        level: 'warning',
        message: `A standby of ${provider} was promoted, or it was recovered; it has Belay's mark, and ${reopened} entitlements that changed since are made as they should be`,
        actor: { kind: 'system', name: 'targets' },
        provider,
        data: { target, reopened },
      },
    ]);
  });
}

/** Makes the entitlements of a target due that nothing is owed for, so that each is called and read back again. Returns how many. */
export async function reopen(tx: Transaction, target: string, which: SqlText = sqlText``): Promise<number> {
  const rows = await execute<{ id: string }>(
    tx,
    sqlText`
    update ${entitlements} e set due_at = app_now(), state = case e.state when 'absent' then 'revoking' else 'granting' end
    where e.target = ${target} and e.state in ('absent', 'granted') ${which} returning e.id`,
  );
  return rows.length;
}

/**
 * Accepts whichever mark each target has, because a person said that this database goes on after a restore: the marks that it remembers
 * are older. Doubts about positions stay.
 */
export async function forgetMarks(tx: Transaction): Promise<void> {
  await execute(
    tx,
    sqlText`
    update ${targets} set mark = ${anyMark}, marked_at = app_now(), next_mark = null, next_at = null,
      doubt = case when doubt like 'mark_%' then null else doubt end,
      doubted_at = case when doubt like 'mark_%' then null else doubted_at end`,
  );
}
