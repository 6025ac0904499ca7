import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseWorkflow } from '../src/index.js';
import { atPointer } from '../src/json.js';
import type { Json } from '../src/types.js';
import { type Execution, execute, parsed, sharedPool } from './support/drive.js';
import { readFeature, type Scenario } from './support/gherkin.js';
import { performHttp, startHosts } from './support/http.js';

// The specification's conformance kit is not part of the repository; it is run unchanged where it is present.
const folder = new URL('../../../../shared/serverless-workflow/ctk/', import.meta.url);
const features = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.feature')) : [];

/** The scenarios that are rejected when their workflow is parsed, each with the code of its issue. */
const REFUSED: { [scenario: string]: string } = {
  'Call OpenAPI With Content Output': 'ERR_UNSUPPORTED_CALL_OPENAPI',
  'Call OpenAPI With Response Output': 'ERR_UNSUPPORTED_CALL_OPENAPI',
};

let hosts: Awaited<ReturnType<typeof startHosts>>;
beforeAll(async () => {
  sharedPool();
  hosts = await startHosts();
});
afterAll(() => hosts.close());

describe('the readers of these tests', () => {
  it('read scenarios, steps and blocks', () => {
    const text =
      'Feature: f\n  Scenario: one\n    Given a thing:\n    """yaml\n    a:\n      b: 1\n    """\n    Then done';
    expect(readFeature(text)).toEqual([
      { name: 'one', steps: [{ text: 'a thing:', block: 'a:\n  b: 1' }, { text: 'done' }] },
    ]);
  });
});

for (const name of features) {
  describe(`conformance: ${name}`, () => {
    for (const scenario of readFeature(readFileSync(new URL(name, folder), 'utf8'))) {
      const code = REFUSED[scenario.name];
      if (code) {
        it(`${scenario.name} is rejected at load as ${code}`, () => {
          const result = parseWorkflow(blockOf(scenario, 'a workflow with definition:'), { functions: {} });
          expect(result).toMatchObject({ ok: false, issues: [{ code }] });
        });
      } else {
        it(scenario.name, () => play(scenario));
      }
    }
  });
}

function blockOf(scenario: Scenario, text: string): string {
  return scenario.steps.find((step) => step.text === text)?.block ?? '';
}

async function play(scenario: Scenario): Promise<void> {
  const workflow = parsed(blockOf(scenario, 'a workflow with definition:'));
  const input = (parse(blockOf(scenario, 'given the workflow input is:')) ?? {}) as Json;
  const execution = await execute(workflow, input);
  while (execution.status === 'running' || execution.status === 'waiting') {
    const [step] = execution.open;
    if (step?.kind !== 'call') throw new Error(`the kit has nothing that answers ${step?.key}`);
    await execution.resolve(step.key, await performHttp(hosts.url, step.request));
  }
  let checked = 0;
  for (const step of scenario.steps) if (verify(execution, step.text, step.block)) checked += 1;
  expect(checked, 'a scenario that checks nothing').toBeGreaterThan(0);
}

/** Checks one `Then` step; returns false for other kinds of steps. Throws for an unknown step. */
function verify(execution: Execution, text: string, block = ''): boolean {
  const expected = parse(block) as Json;
  const output = (path: string) => atPointer(execution.output, `/${path.replaceAll('.', '/')}`);
  const [, first] = /^(\w+) should run first$/.exec(text) ?? [];
  const [, last] = /^(\w+) should run last$/.exec(text) ?? [];
  const [, after, before] = /^(\w+) should run after (\w+)$/.exec(text) ?? [];
  const [, property] = /^the workflow output should have a '([^']+)' property with value:$/.exec(text) ?? [];
  const [, many, count] =
    /^the workflow output should have a '([^']+)' property containing (\d+) items$/.exec(text) ?? [];
  if (/^(a workflow with definition:|given the workflow input is:|the workflow is executed)$/.test(text)) return false;
  if (text === 'the workflow should complete') expect(execution).toMatchObject({ status: 'completed' });
  else if (text === 'the workflow should complete with output:') {
    expect(execution).toMatchObject({ status: 'completed' });
    expect(execution.output).toEqual(expected);
  } else if (text === 'the workflow should fault') expect(execution).toMatchObject({ status: 'faulted' });
  else if (text === 'the workflow should fault with error:') {
    expect(execution).toMatchObject({ status: 'faulted', fault: expected as object });
  } else if (text.startsWith('the workflow output should have properties ')) {
    const names = [...text.matchAll(/'([^']+)'/g)].map(([, name]) => name ?? '');
    expect(names.filter((name) => output(name) === undefined)).toEqual([]);
  } else if (property) expect(output(property)).toEqual(expected);
  else if (many) expect(output(many)).toHaveLength(Number(count));
  else if (first) expect(execution.ran()[0]).toBe(first);
  else if (last) expect(execution.ran().at(-1)).toBe(last);
  else if (after && before) {
    expect(execution.ran()).toContain(before);
    expect(execution.ran().indexOf(after)).toBeGreaterThan(execution.ran().indexOf(before));
  } else throw new Error(`unknown step: ${text}`);
  return true;
}
