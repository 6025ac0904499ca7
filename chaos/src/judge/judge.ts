import type { History } from '../history.js';
import { assignHoldings } from './holdings.js';
import { judgeAnswers } from './judge-answers.js';
import { judgeTarget, type Revocation } from './judge-target.js';

/** The rules of docs/guarantees.md. */
export const rules = {
  unrequested: 'nothing is held that was not requested',
  overstayed: 'nothing is held longer than its end and the bound',
  missing: 'nothing that was acknowledged as active is missing for longer than the bound',
  slow: 'what may be granted is granted within the bound',
  raced: 'the shorter of two timers wins, however late both are',
  doubled: 'there is one execution for each idempotency key',
  unfinished: 'every acknowledged execution reaches its end, and none faults because of our own outage',
  left: 'nothing is held at the end',
  died: 'no process ends by itself',
  answers: 'no 5xx is answered but 503, and that during a fault only',
  long: 'no request takes over 15 s, and none that waits for the database over 10 s',
  recovery: 'after every fault requests and grants work again within 10 s',
} as const;

export type Rule = keyof typeof rules;

export interface Verdict {
  /** What is wrong, by rule. */
  wrong: Record<Rule, string[]>;
  revocations: Revocation[];
}

/** Judges a run only by what the targets held and what Belay answered. Pure. */
export function judge(history: History): Verdict {
  const { holdings, strays } = assignHoldings(history);
  const { wrong, revocations } = judgeTarget(history, holdings, strays);
  const found = { ...wrong, ...judgeAnswers(history) };
  const names = Object.keys(rules) as Rule[];
  return {
    wrong: Object.fromEntries(names.map((rule) => [rule, found[rule] ?? []])) as Record<Rule, string[]>,
    revocations,
  };
}
