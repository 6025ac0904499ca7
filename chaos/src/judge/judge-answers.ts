import type { Attempt, FaultWindow, History } from '../history.js';
import { bounds } from './bounds.js';
import { clockOf } from './judge-target.js';

/** Rules 3 to 7 as far as answers over HTTP and the processes show them. */
export function judgeAnswers(history: History): Record<string, string[]> {
  return {
    doubled: judgeDoubles(history),
    unfinished: judgeEnds(history),
    died: history.deaths.map(({ process, at, how }) => `${process} ended by itself at ${clockOf(history, at)}: ${how}`),
    answers: history.attempts.flatMap((attempt) => judgeAttempt(history, attempt)),
    recovery: history.faults.flatMap(judgeRecovery),
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

function judgeAttempt(history: History, attempt: Attempt): string[] {
  const { server, operation, at, took, outcome, expected } = attempt;
  const told = `${operation} at ${server} at ${clockOf(history, at)}`;
  const wrong: string[] = [];
  if (took > bounds.request) wrong.push(`${told} took ${Math.round(took)} ms`);
  const during = history.faults.filter(({ from, healed }) => from <= at + took && healed + bounds.recovery >= at);
  const disturbed = during.some(({ scope }) => scope !== 'nothing');
  const isGlobal = during.some(({ scope }) => scope === 'everything');
  if (typeof outcome === 'string') {
    if (!isGlobal) wrong.push(`${told} ended with ${outcome} and no fault is a reason`);
  } else if (outcome >= 500) {
    if (outcome !== 503 || !disturbed)
      wrong.push(`${told} was answered with ${outcome}${disturbed ? '' : ' without a fault'}`);
  } else if (!expected) wrong.push(`${told} was answered with ${outcome}`);
  const active = during.filter(({ healed }) => healed >= at);
  if (operation === 'ready' && took > bounds.ready && burdened(active)) {
    wrong.push(`${told} took ${Math.round(took)} ms beside ${active.map(({ name }) => name).join(' and ')}`);
  }
  if (operation === 'deny' && took > bounds.denial && during.length > 0 && during.every(isAtTarget)) {
    wrong.push(`${told} took ${Math.round(took)} ms while a target failed`);
  }
  return wrong;
}

function burdened(during: readonly FaultWindow[]): boolean {
  return during.length > 0 && during.every(({ scope }) => scope === 'nothing');
}

function isAtTarget({ scope }: FaultWindow): boolean {
  return typeof scope !== 'string';
}

function judgeRecovery({ name, recovered }: FaultWindow): string[] {
  return Object.entries(recovered).flatMap(([part, took]) =>
    took === null || took > bounds.recovery
      ? [`after ${name}, ${part} ${took === null ? 'did not recover' : `recovered after ${Math.round(took)} ms`}`]
      : [],
  );
}
