import type { Attempt, FaultWindow, History } from './history.js';
import { bounds } from './judge/bounds.js';
import { touches } from './judge/deadlines.js';
import { type Rule, rules, type Verdict } from './judge/judge.js';
import { awaitsDatabase } from './judge/judge-answers.js';
import type { Revocation } from './judge/judge-target.js';

/** How many violations of a rule are shown. The history of a failed run is kept, so that the others can be found. */
const shown = 5;

/** Returns the run as text: a row for each fault, figures of the whole, and last the violations, because often only the end is read. */
export function describeRun(history: History, verdict: Verdict): string[] {
  return [...describeFaults(history, verdict), '', ...describeWhole(history, verdict), '', ...describeRules(verdict)];
}

/** The rules whose bounds are times; the other rules hold on slow machines too. */
const timed: readonly Rule[] = ['overstayed', 'slow', 'long', 'recovery'];

/** Returns whether every rule was kept; with `times` `told`, the rules whose bounds are times do not count. */
export function isHeld({ wrong }: Verdict, times: 'held' | 'told' = 'held'): boolean {
  return (Object.keys(rules) as Rule[]).every(
    (rule) => wrong[rule].length === 0 || (times === 'told' && timed.includes(rule)),
  );
}

function describeWhole(history: History, { revocations }: Verdict): string[] {
  const late = revocations.filter(({ undisturbed }) => undisturbed).map(lateness);
  const calls = history.attempts.filter(({ operation }) => operation !== 'ready');
  const failed = calls.filter(isFailed);
  const seconds = Math.round((history.endedAt - history.startedAt) / 1_000);
  const grants = Object.values(history.held).reduce((sum, intervals) => sum + intervals.length, 0);
  return [
    `${seconds} s, ${history.faults.length} faults, ${history.requests.length} requests for access, ${calls.length} HTTP requests (${failed.length} failed), ${grants} grants seen at the target`,
    `lateness of a revocation without a fault: ${spread(late)}`,
    `most revocations due within a second: ${mostWithin(
      1_000,
      revocations.map(({ due }) => due),
    )}`,
    `slowest HTTP request: ${slowest(calls)}; of those that waited for the database: ${slowest(calls.filter((call) => awaitsDatabase(history, call)))}`,
  ];
}

function slowest(calls: readonly Attempt[]): string {
  const [first] = [...calls].sort((a, b) => b.took - a.took);
  return first === undefined ? 'none' : `${Math.round(first.took)} ms (${first.operation})`;
}

function mostWithin(milliseconds: number, times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  let [first, most] = [0, 0];
  for (const [index, time] of sorted.entries()) {
    while (time - (sorted[first] ?? time) >= milliseconds) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

const columns = ['fault', 'times', 'HTTP', 'failed', 'late p50', 'late max', 'requests after', 'grants after'];

function describeFaults(history: History, verdict: Verdict): string[] {
  const names = [...new Set(history.faults.map(({ name }) => name))];
  const rows = names.map((name) =>
    rowOf(
      name,
      history.faults.filter((each) => each.name === name),
      history,
      verdict,
    ),
  );
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => (row[index] ?? '').length)),
  );
  return [columns, ...rows].map((row) =>
    row
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('  '),
  );
}

function rowOf(name: string, windows: readonly FaultWindow[], history: History, verdict: Verdict): string[] {
  const inside = (at: number) => windows.some(({ from, healed }) => at >= from && at <= healed + bounds.recovery);
  const calls = history.attempts.filter(({ at, operation }) => operation !== 'ready' && inside(at));
  const late = windows.flatMap(({ scope, from, healed }) =>
    verdict.revocations
      .filter(
        ({ target, due, done }) =>
          (scope === 'nothing' || touches(scope, target)) && done >= from && due <= healed + bounds.afterFault,
      )
      // Counted from the healing, because work that was due before could not be done before.
      .map(({ due, done }) => Math.max(0, done - Math.max(due, healed))),
  );
  const { p50, max } = percentiles(late);
  return [
    name,
    String(windows.length),
    String(calls.length),
    String(calls.filter(isFailed).length),
    milliseconds(p50),
    milliseconds(max),
    recoveryOf(windows, (part) => part.startsWith('server')),
    recoveryOf(windows, (part) => !part.startsWith('server')),
  ];
}

function recoveryOf(windows: readonly FaultWindow[], isPart: (part: string) => boolean): string {
  const times = windows.flatMap(({ recovered }) =>
    Object.entries(recovered).flatMap(([part, took]) => (isPart(part) ? [took] : [])),
  );
  if (times.length === 0) return '';
  return times.includes(null) ? 'never' : milliseconds(Math.max(...times.map((each) => each ?? 0)));
}

function describeRules({ wrong }: Verdict): string[] {
  const all = Object.keys(rules) as Rule[];
  const broken = all.filter((rule) => wrong[rule].length > 0);
  const kept = all.length - broken.length;
  const red = broken.flatMap((rule) => {
    const found = wrong[rule];
    const more = found.length > shown ? [`       … and ${found.length - shown} more`] : [];
    return [`RED  ${rules[rule]}: ${found.length}`, ...found.slice(0, shown).map((each) => `       ${each}`), ...more];
  });
  return [`ok   ${kept} of ${all.length} rules`, ...red];
}

/** Returns whether an attempt got no answer, or a 5xx. */
function isFailed({ outcome }: Attempt): boolean {
  return typeof outcome === 'string' || outcome >= 500;
}

function lateness({ due, done }: Revocation): number {
  return Math.max(0, done - due);
}

function percentiles(values: readonly number[]): { p50: number; p99: number; max: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function spread(values: readonly number[]): string {
  const { p50, p99, max } = percentiles(values);
  return `p50 ${milliseconds(p50)}, p99 ${milliseconds(p99)}, max ${milliseconds(max)} (${values.length} revocations)`;
}

function milliseconds(value: number): string {
  return Number.isNaN(value) ? '–' : `${Math.round(value)} ms`;
}
