import type { Course, Sighting } from '@belay/providers';

/** What is remembered of a target: see the table `targets`. */
export interface Memory {
  position: string | null;
  mark: string | null;
  /** A mark that may have been written. */
  nextMark: string | null;
  doubt: string | null;
}

/**
 * Stands for the mark of a target until it is renewed: a person has said that this database goes on, which was restored to a time
 * before the target's mark. It shows nothing of a server whose history forked.
 */
export const anyMark = '*';

/** Why a server is not believed. The lasting ones end only when an operator has decided: time makes such a server look right again. */
export type Doubt = keyof typeof doubts;

export const doubts = {
  unsettling: { lasts: false, says: 'is a standby, or is still in recovery' },
  two_servers: { lasts: false, says: 'is another one than at the beginning of the call' },
  mark_missing: {
    lasts: false,
    says: "has none of Belay's marks: it is another server, or a copy from before the last mark",
  },
  mark_earlier: {
    lasts: false,
    says: "has an earlier mark of Belay's: it is a copy, or was restored to an earlier time",
  },
  mark_other: { lasts: false, says: "has a mark that this database of Belay's did not write" },
  late: { lasts: false, says: 'has not heard of everything yet that was done at another server of the same system' },
  earlier: {
    lasts: true,
    says: 'lacks something that it had before: it is a copy, or was restored to an earlier time',
  },
  forked: { lasts: true, says: 'was promoted or recovered, and nothing shows whether it lacks something' },
} as const satisfies Record<string, { lasts: boolean; says: string }>;

export type Verdict =
  /** `forked`: it is the target, and its history forked after the mark: what changed since then has to be compared. */
  { is: 'believed'; marked: boolean; forked: boolean } | { is: 'doubted'; doubt: Doubt };

/** What a sighting is compared with. */
export interface Known {
  /** Null for a target of which nothing is remembered. */
  memory: Memory | null;
  /** The position at the latest result of the entitlement that the call is about. */
  row: string | null;
  /** The previous sighting of the same call. */
  latest: Sighting | null;
}

/**
 * Decides whether a server may be believed (R7): whether a call that it answers may settle something. A mark of Belay's that is there
 * shows that the server has everything from before that mark; positions show what it has since. On a forked history only the mark counts.
 */
export function judge(compare: (known: string, seen: string) => Course, seen: Sighting, known: Known): Verdict {
  const { memory, row, latest } = known;
  if (seen.unsettling !== null) return { is: 'doubted', doubt: 'unsettling' };
  if (latest && seen.instance !== latest.instance) return { is: 'doubted', doubt: 'two_servers' };
  const lasting = memory?.doubt;
  if (lasting === 'earlier' || lasting === 'forked') return { is: 'doubted', doubt: lasting };
  const marks = [seen.mark, ...seen.otherMarks];
  const expected = [memory?.mark, memory?.nextMark].filter((mark) => typeof mark === 'string');
  const marked = expected.some((mark) => marks.includes(mark));
  const forgotten = expected.includes(anyMark);
  // A mark that was stored and perhaps never written is not missed.
  const missed = !marked && !forgotten && (typeof memory?.mark === 'string' || seen.mark !== null);
  if (missed) return { is: 'doubted', doubt: judgeMark(seen.mark, memory?.mark ?? null) };
  const course = (position: string | null | undefined): Course =>
    position && seen.position !== null ? compare(position, seen.position) : 'ahead';
  const [since, sinceRow, sinceLatest] = [course(memory?.position), course(row), course(latest?.position)];
  if (since === 'behind' || sinceRow === 'behind' || sinceLatest === 'behind')
    return { is: 'doubted', doubt: 'earlier' };
  if ([since, sinceRow, sinceLatest].includes('late')) return { is: 'doubted', doubt: 'late' };
  // A fork that was accepted is in the memory; the rows keep their positions from before it.
  const forked = since === 'forked' || (!memory?.position && sinceRow === 'forked');
  if (forked && !marked) return { is: 'doubted', doubt: 'forked' };
  return { is: 'believed', marked, forked };
}

function judgeMark(found: string | null, expected: string | null): Doubt {
  if (found === null) return 'mark_missing';
  return expected !== null && numberOf(found) < numberOf(expected) ? 'mark_earlier' : 'mark_other';
}

/**
 * Returns a mark for a target, which has the mark `seen`: its number, which rises, and a random value. A mark that was stored and is not
 * there is written again, because its commit may still land: by then, Belay would not know it if another one had replaced it.
 */
export function nextMark(memory: Memory | null, random: string, seen: string | null = null): string {
  if (memory?.nextMark && memory.nextMark !== seen) return memory.nextMark;
  const last = Math.max(0, ...[memory?.mark, memory?.nextMark, seen].map((mark) => (mark ? numberOf(mark) : 0)));
  return `${last + 1}.${random}`;
}

function numberOf(mark: string): number {
  const number = Number(/^\d{1,15}(?=\.)/.exec(mark)?.[0]);
  return Number.isNaN(number) ? 0 : number;
}
