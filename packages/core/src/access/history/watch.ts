import { type Authorizer, Retryable, type Sighting, TargetDoubted, type Trust } from '@belay/providers';
import { type Doubt, doubts, judge, type Memory } from '../../catalog/judge.js';
import { readMemory } from '../../catalog/read-memory.js';
import type { Store } from '../../context.js';
import { acceptFork, endDoubt, noteDoubt, type Remembered } from './memory.js';

export interface Watched {
  /** The authorizer, whose every transaction settles something only at a server that is believed. */
  authorizer: Authorizer;
  /** Returns the position at the latest transaction; null when it cannot be told. */
  position(): string | null;
}

/** What this process last read of each target, for calls that have no claim; stale at most until a mark is not found. */
const recalled = new WeakMap<Authorizer, Map<string, Memory | null>>();

/**
 * Returns the authorizer for one call. Each of its transactions, the read-back included, throws `TargetDoubted`, and raises the alarm,
 * at a server that may lack what was last done at the target (R7). `claim` has what is remembered; without it, it is read once.
 */
export function watch(
  ctx: Store,
  provider: string,
  authorizer: Authorizer,
  claim?: { pin: { target: string } | null; remembered: Remembered },
): Watched {
  const { history } = authorizer;
  if (!history) return { authorizer, position: () => null };
  let latest: Sighting | null = null;
  const known = claim?.pin ? new Map([[claim.pin.target, claim.remembered.memory]]) : recall(authorizer);
  const row = claim?.remembered.row ?? null;
  const trust: Trust = async (look) => {
    // Read before the look: calls that run at the same time move it on.
    const before = latest;
    const seen = await look();
    const { target } = seen;
    // The connector itself changes nothing at another target than that of the pin.
    if (claim?.pin && target !== claim.pin.target) return;
    let memory = known.get(target);
    if (memory === undefined) memory = await refresh(ctx, known, target);
    latest = await believe(ctx, { provider, target, history, row, latest: before, seen, memory, look, known });
  };
  return { authorizer: history.trusting(trust), position: () => latest?.position ?? null };
}

function recall(authorizer: Authorizer): Map<string, Memory | null> {
  const known = recalled.get(authorizer) ?? new Map<string, Memory | null>();
  recalled.set(authorizer, known);
  return known;
}

/** Keeps what was read of a target for the next calls that have no claim. */
export function keepMemory(authorizer: Authorizer, target: string, memory: Memory | null): void {
  recall(authorizer).set(target, memory);
}

interface Question {
  provider: string;
  target: string;
  history: NonNullable<Authorizer['history']>;
  row: string | null;
  latest: Sighting | null;
  seen: Sighting;
  memory: Memory | null;
  look: () => Promise<Sighting>;
  known?: Map<string, Memory | null>;
}

/**
 * Returns the sighting by which the server is believed. Before it is doubted, memory and server are read again: another process may have
 * renewed the mark meanwhile.
 */
export async function believe(ctx: Store, question: Question): Promise<Sighting> {
  const { provider, target, history, row, latest } = question;
  const known = question.known ?? new Map();
  let { seen, memory } = question;
  let verdict = judge(history.compare, seen, { memory, row, latest });
  for (let looks = 1; looks <= 2 && (verdict.is === 'doubted' || verdict.forked); looks += 1) {
    if (verdict.is === 'believed' && memory && seen.position !== null) {
      const { position } = seen;
      const before = memory;
      await ours(() => acceptFork(ctx, { provider, target, memory: before, position }));
    }
    memory = await refresh(ctx, known, target);
    seen = await question.look();
    verdict = judge(history.compare, seen, { memory, row, latest });
  }
  if (verdict.is === 'believed' && verdict.forked) throw new Retryable('The history of the target has just forked');
  if (verdict.is === 'doubted') {
    const { doubt } = verdict;
    await ours(() => noteDoubt(ctx, { provider, target, doubt }));
    known.delete(target);
    throw new TargetDoubted(describeDoubt(doubt));
  }
  if (memory?.doubt) {
    const { doubt } = memory;
    await ours(() => endDoubt(ctx, { provider, target, doubt }));
    known.set(target, { ...memory, doubt: null });
  }
  return seen;
}

/** Returns the message of a doubt, for the requester and the operator. */
function describeDoubt(doubt: Doubt): string {
  return `The server that responded ${doubts[doubt].says}; nothing is granted or settled there`;
}

async function refresh(ctx: Store, known: Map<string, Memory | null>, target: string): Promise<Memory | null> {
  const memory = await ours(() => readMemory(ctx.db, target));
  known.set(target, memory);
  return memory;
}

/** Runs a statement of Belay's own database within a call: the connector must not take its error for one of the target. */
async function ours<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Retryable('What is known of the target could not be read', { cause: error });
  }
}
