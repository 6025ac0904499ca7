import type { Attempt, FaultWindow, History } from '../history.js';
import { bounds } from './bounds.js';
import { deadline } from './deadlines.js';
import { clockOf } from './judge-target.js';

/** Judges rules 5, 6 and 8 to 10 of docs/guarantees.md from the HTTP responses and the processes. */
export function judgeAnswers(history: History): Record<string, string[]> {
  return {
    doubled: judgeDoubles(history),
    unfinished: judgeEnds(history),
    died: history.deaths.map(({ process, at, how }) => `${process} ended by itself at ${clockOf(history, at)}: ${how}`),
    answers: history.attempts.flatMap((attempt) => judgeAnswer(history, attempt)),
    long: history.attempts.flatMap((attempt) => judgeTime(history, attempt)),
    recovery: history.faults.flatMap((fault) => judgeRecovery(history, fault)),
  };
}

function judgeDoubles({ requests, written }: History): string[] {
  const doubled = requests
    .filter(({ ids }) => ids.length > 1)
    .map(({ key, ids }) => `${key} was answered with ${ids.length} executions: ${ids.join(', ')}`);
  const people = Object.entries(written).flatMap(([person, ids]) => {
    const own = requests.filter((request) => request.person === person);
    const known = new Set(own.flatMap((request) => request.ids));
    const unknown = ids.filter((id) => !known.has(id));
    const unanswered = own.filter((request) => request.ids.length === 0).length;
    return unknown.length > unanswered
      ? [
          `${person} has ${unknown.length} executions that no answer named, and ${unanswered} requests without an answer`,
        ]
      : [];
  });
  return [...doubled, ...people];
}

function judgeEnds({ requests, unanswered }: History): string[] {
  const gaveUp = unanswered.map(({ operation }) => operation);
  return [
    ...gaveUp,
    ...requests.flatMap(({ key, acknowledgedAt, final, expected }) => {
      if (acknowledgedAt === null) return [];
      if (final === null) return [`${key} was acknowledged and never read`];
      return expected.includes(final.status)
        ? []
        : [`${key} ended ${final.status} (${final.state}) ${final.detail}`.trim()];
    }),
  ];
}

function judgeAnswer(history: History, attempt: Attempt): string[] {
  const { outcome, expected } = attempt;
  const told = nameOf(history, attempt);
  const during = faultsDuring(history, attempt);
  const disturbed = during.some(({ scope }) => scope !== 'nothing');
  const isGlobal = during.some(({ scope }) => scope === 'everything');
  if (typeof outcome === 'string') return isGlobal ? [] : [`${told} ended with ${outcome} and no fault is a reason`];
  if (outcome < 500) return expected ? [] : [`${told} was answered with ${outcome}`];
  if (outcome === 503 && disturbed) return [];
  return [`${told} was answered with ${outcome}${disturbed ? '' : ' without a fault'}`];
}

function judgeTime(history: History, attempt: Attempt): string[] {
  const { operation, at, took } = attempt;
  const told = `${nameOf(history, attempt)} took ${Math.round(took)} ms`;
  const during = faultsDuring(history, attempt);
  const active = during.filter(({ healed }) => healed >= at);
  const wrong: string[] = [];
  if (awaitsDatabase(history, attempt) && took > bounds.database) wrong.push(`${told} waiting for the database`);
  else if (took > bounds.request) wrong.push(told);
  if (operation === 'ready' && took > bounds.ready && burdened(active)) {
    wrong.push(`${told} beside ${active.map(({ name }) => name).join(' and ')}`);
  }
  if (operation === 'deny' && took > bounds.denial && during.length > 0 && during.every(isAtTarget)) {
    wrong.push(`${told} while a target failed`);
  }
  return wrong;
}

/** Returns whether a request had to wait for the database: it got a 503, or the database failed meanwhile. */
export function awaitsDatabase({ faults }: History, { at, took, outcome }: Attempt): boolean {
  return outcome === 503 || faults.some(({ database, from, healed }) => database && from <= at + took && healed >= at);
}

function nameOf(history: History, { operation, server, at }: Attempt): string {
  return `${operation} at ${server} at ${clockOf(history, at)}`;
}

/** Returns the faults during an attempt, and those that were healed so shortly before it that they may still affect it. */
function faultsDuring({ faults }: History, { at, took }: Attempt): FaultWindow[] {
  return faults.filter(({ from, healed }) => from <= at + took && healed + bounds.recovery >= at);
}

function burdened(during: readonly FaultWindow[]): boolean {
  return during.length > 0 && during.every(({ scope }) => scope === 'nothing');
}

function isAtTarget({ scope }: FaultWindow): boolean {
  return typeof scope !== 'string';
}

/** Judges the recovery from a fault. Other faults of the same part extend the bound when they began before it had passed. */
function judgeRecovery({ faults }: History, { name, healed, recovered }: FaultWindow): string[] {
  return Object.entries(recovered).flatMap(([part, took]) => {
    if (took === null) return [`after ${name}, ${part} did not recover`];
    const ofPart = faults.filter((fault) => Object.hasOwn(fault.recovered, part));
    const done = healed + took;
    // Leases do not extend the bound, because the recovery is measured with new requests and grants.
    const when = { target: part, due: healed, done, requestedAt: Number.POSITIVE_INFINITY, late: bounds.recovery };
    return done > deadline(ofPart, when) ? [`after ${name}, ${part} recovered after ${Math.round(took)} ms`] : [];
  });
}
