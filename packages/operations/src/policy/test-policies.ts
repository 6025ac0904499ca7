import { parseDuration } from '@belay/contract/durations';
import { type Answer, type Catalog, type Rehearsal, rehearseFor } from '@belay/core';
import { createExpressionPool, type Evaluate } from '@belay/workflow';
import { compileOffline, type Refused } from '../config/compile-configuration.js';
import { ConfigurationError } from '../config/configuration-error.js';
import type { CasePerson, PolicyCase } from './case-schema.js';
import { type ReadCases, readCases, standInsOf } from './read-cases.js';

/** The result of one case. */
export interface CaseResult extends Rehearsal {
  file: string;
  name: string;
  ok: boolean;
  /** One line for each difference: what was expected, and what happened. */
  differences: string[];
}

export type PolicyTest = { ok: true; results: CaseResult[]; untested: string[] } | Refused;

/** The time of a case that does not set `at`; a workflow that reads the time then has the result `unknown`. */
const anyTime = new Date('2026-01-01T12:00:00.000Z');

/**
 * Runs the policy cases of a configuration without a server, a database or any provider (`belay test`): the configuration is
 * compiled without its vault, and each request is rehearsed (docs/guides/policy-tests.md).
 */
export async function testPolicies(
  path: string,
  casesPath: string | undefined,
  variables: Record<string, string | undefined>,
): Promise<PolicyTest> {
  try {
    const files = await readCases(path, casesPath);
    return await compileOffline(path, { variables, standIns: standInsOf(files) }, (catalog) => play(catalog, files));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { ok: false, messages: error.messages, faults: error.faults };
  }
}

async function play(catalog: Catalog, files: readonly ReadCases[]): Promise<PolicyTest & { ok: true }> {
  const pool = createExpressionPool();
  try {
    const results: CaseResult[] = [];
    for (const { file, content } of files) {
      for (const one of content.cases) {
        const person = typeof one.person === 'string' ? content.people[one.person] : one.person;
        if (person) results.push({ file, ...(await playCase(catalog, pool.evaluate, one, person)) });
      }
    }
    const tested = new Set(files.flatMap(({ content }) => content.cases.map(({ request }) => request.role)));
    const untested = [...catalog.roles.values()].filter(({ enabled, name }) => enabled && !tested.has(name));
    return { ok: true, results, untested: untested.map(({ name }) => name) };
  } finally {
    await pool.close();
  }
}

async function playCase(catalog: Catalog, evaluate: Evaluate, one: PolicyCase, person: CasePerson) {
  const provider = person.provider ?? catalog.authenticators[0] ?? '';
  const rehearsal: Rehearsal =
    person.provider === undefined && catalog.authenticators.length > 1
      ? {
          result: 'unknown',
          because: `say with which provider the person signs in: ${catalog.authenticators.join(', ')}`,
          approvals: [],
          grants: [],
        }
      : await rehearseFor(catalog, evaluate, {
          person: { ...person, provider },
          terms: one.request,
          at: one.at === undefined ? anyTime : new Date(one.at),
          timed: one.at !== undefined,
          answers: Object.fromEntries(Object.entries(one.answers).map(([task, answer]) => [task, toAnswer(answer)])),
        });
  const differences = compare(one.expect, rehearsal);
  return { name: one.name, ok: differences.length === 0, differences, ...rehearsal };
}

function toAnswer(answer: PolicyCase['answers'][string]): Answer {
  if (typeof answer === 'string') return { verdict: answer };
  if (!('stages' in answer)) return answer;
  return { stages: answer.stages.map((one) => (typeof one === 'string' ? { verdict: one } : one)) };
}

/** Returns one line for each difference between the result and what the case expects. */
function compare(expected: PolicyCase['expect'], got: Rehearsal): string[] {
  const differences: string[] = [];
  const differ = (what: string, wanted: unknown, is: unknown) =>
    differences.push(`${what}: expected ${show(wanted)}, got ${show(is)}`);
  if (got.result !== expected.result)
    differ('result', expected.result, got.because === '' ? got.result : `${got.result} (${got.because})`);
  else if (expected.message !== undefined && !got.because.includes(expected.message))
    differ('message', expected.message, got.because);
  if (expected.approvals !== undefined && !isSameList(expected.approvals, got.approvals))
    differ(
      'approvals',
      expected.approvals,
      got.approvals.map(({ task, users, groups, count, stage }) => ({ task, users, groups, count, stage })),
    );
  const { duration, providers } = expected;
  if (duration !== undefined && !got.grants.some((grant) => isSameDuration(grant.duration, duration)))
    differ(
      'duration',
      duration,
      got.grants.map((grant) => grant.duration),
    );
  const at = [...new Set(got.grants.flatMap((grant) => grant.providers))];
  if (providers !== undefined && !isSame([...providers].sort(), [...at].sort())) differ('providers', providers, at);
  return differences;
}

const show = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Compares only the keys that an expected approval has. */
function isSameList(expected: NonNullable<PolicyCase['expect']['approvals']>, got: Rehearsal['approvals']): boolean {
  return (
    expected.length === got.length &&
    expected.every((approval, index) =>
      Object.entries(approval).every(([key, value]) => isSame(value, got[index]?.[key as keyof typeof approval])),
    )
  );
}

function isSameDuration(one: string, other: string): boolean {
  try {
    return parseDuration(one) === parseDuration(other);
  } catch {
    return false;
  }
}
