import { execute, sqlText, targets } from '@belay/db';
import type { Authorizer, Sighting } from '@belay/providers';
import { type Memory, nextMark } from '../../catalog/judge.js';
import { readMemory } from '../../catalog/read-memory.js';
import type { Store } from '../../context.js';
import { believe, keepMemory } from './watch.js';

/** When this process last renewed the mark of each target, by its own clock, or looked whether another process did. */
const renewals = new WeakMap<Authorizer, { at: number; running?: Promise<void> | undefined }>();

/**
 * Renews the mark of a provider's target when it is older than `timing.mark`, or remembers the target where it has no room for a mark.
 * Called before the first intent, and regularly while access is held. Throws `TargetDoubted` when the server is not believed, and the
 * errors of the connector. Calls at the same time share one renewal.
 */
export async function renewMark(ctx: Store, provider: string, authorizer: Authorizer): Promise<void> {
  if (!authorizer.history) return;
  const now = ctx.clock().getTime();
  const last = renewals.get(authorizer);
  if (last?.running !== undefined) return last.running;
  // A clock that was set back must not stop renewals until it has caught up.
  if (last && Math.abs(now - last.at) < ctx.timing.mark) return;
  const running = renew(ctx, provider, authorizer, AbortSignal.timeout(ctx.timing.callTimeout));
  renewals.set(authorizer, { at: now, running });
  try {
    await running;
    renewals.set(authorizer, { at: now });
  } catch (error) {
    // The next call looks again.
    renewals.delete(authorizer);
    throw error;
  }
}

/** The mark is stored before it is written, and confirmed afterwards: whichever of the two the target has is known (R1). */
async function renew(ctx: Store, provider: string, authorizer: Authorizer, signal: AbortSignal): Promise<void> {
  const { history } = authorizer;
  if (!history) return;
  let next: { target: string; mark: string } | null = null;
  const decide = async (look: () => Promise<Sighting>): Promise<string | null> => {
    const first = await look();
    const { target } = first;
    const before = await readMemory(ctx.db, target);
    const known = new Map<string, Memory | null>();
    const seen = await believe(ctx, {
      provider,
      target,
      history,
      row: null,
      latest: null,
      seen: first,
      memory: before,
      look,
      known,
    });
    const memory = known.get(target) ?? before;
    const mark = await prepare(ctx, seen, memory, history.mark !== undefined);
    keepMemory(authorizer, target, await readMemory(ctx.db, target));
    next = mark === null ? null : { target, mark };
    return mark;
  };
  const written = history.mark
    ? await history.mark(decide, signal)
    : await history
        .trusting(async (look) => void (await decide(look)))
        .target(signal)
        .then(() => false);
  if (next) await settle(ctx, next, written);
}

/**
 * Stores how far the target is and, when its mark is due, the next one. Returns the mark to write; null when another process has
 * renewed it, or is doing so.
 */
async function prepare(ctx: Store, seen: Sighting, memory: Memory | null, marks: boolean): Promise<string | null> {
  const { target, position } = seen;
  const mark = marks ? nextMark(memory, ctx.newId(), seen.mark) : null;
  const [prepared] = await execute<{ mark: string | null }>(
    ctx.db,
    sqlText`
    insert into ${targets} as t (target, position, next_mark, next_at)
      values (${target}, ${position}, ${mark}, case when ${mark}::text is not null then app_now() end)
    on conflict (target) do update set position = coalesce(excluded.position, t.position),
      -- A mark that was written and not confirmed, because its process stopped.
      mark = case when t.next_mark = any (${listOf(seen)}::text[]) then t.next_mark else t.mark end,
      marked_at = case when t.next_mark = any (${listOf(seen)}::text[]) then t.next_at else t.marked_at end,
      next_mark = excluded.next_mark,
      -- What was recorded since a mark was first sent is compared after a fork, whenever it landed.
      next_at = case when t.next_mark = excluded.next_mark then t.next_at else excluded.next_at end
    where t.position is not distinct from ${memory?.position ?? null}::text
      and t.mark is not distinct from ${memory?.mark ?? null}::text
      and t.next_mark is not distinct from ${memory?.nextMark ?? null}::text
      -- A little less than the pause between two renewals, so that one of several processes does each.
      and coalesce(greatest(t.marked_at, t.next_at) < app_now() - ${`${ctx.timing.mark * 0.8} milliseconds`}::interval, true)
    returning t.next_mark as mark`,
  );
  return prepared?.mark ?? null;
}

function listOf({ mark, otherMarks }: Sighting): string {
  const marks = [mark, ...otherMarks].filter((one) => one !== null);
  return `{${marks.map((one) => JSON.stringify(one)).join(',')}}`;
}

/** Confirms a mark that was written, or withdraws one that may not be written. */
async function settle(ctx: Store, { target, mark }: { target: string; mark: string }, written: boolean): Promise<void> {
  const confirmed = written ? sqlText`mark = next_mark, marked_at = next_at,` : sqlText``;
  await execute(
    ctx.db,
    sqlText`update ${targets} set ${confirmed} next_mark = null, next_at = null where target = ${target} and next_mark = ${mark}`,
  );
}
