import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { begin, type Json, parseState, parseWorkflow } from '../src/index.js';
import { anyFunction, sharedPool } from './support/drive.js';

const folder = new URL('./golden/', import.meta.url);
const goldens = readdirSync(folder).map(
  (name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as { [part: string]: Json },
);

/** Returns the paths of a value and of everything inside it. */
function pathsOf(value: Json, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const inside = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [path, ...inside.flatMap(([key, item]) => pathsOf(item, [...path, key]))];
}

function replaced(value: Json, [key, ...rest]: (string | number)[], by: Json): Json {
  if (key === undefined) return by;
  const copy = structuredClone(value) as { [key: string | number]: Json };
  copy[key] = replaced(copy[key] ?? null, rest, by);
  return copy;
}

/** Returns an arbitrary of golden parts in which one or two values are replaced by pieces of other parts or by odd values. */
function damaged(part: string) {
  const pieces = goldens.flatMap((golden) =>
    pathsOf(golden[part] ?? null).map((path) =>
      path.reduce<Json>((at, key) => (at as { [key: string]: Json })[key] ?? null, golden[part] ?? null),
    ),
  );
  const strange: Json[] = [
    '${ . }',
    '${ $error }',
    '${ .a',
    'end',
    '',
    -1,
    null,
    [],
    {},
    true,
    { as: '${ . }' },
    'PT1S',
    'ask',
    '__proto__',
  ];
  const by = fc.oneof(fc.constantFrom(...pieces), fc.constantFrom(...strange));
  return fc
    .tuple(fc.constantFrom(...goldens), fc.array(fc.tuple(fc.nat(1000), by), { minLength: 1, maxLength: 2 }))
    .map(([golden, damages]) =>
      damages.reduce((value, [pick, piece]) => {
        const paths = pathsOf(value);
        return replaced(value, paths[pick % paths.length] ?? [], piece);
      }, golden[part] ?? null),
    );
}

describe('with arbitrary input', () => {
  it('parseWorkflow never throws, and reports errors as codes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string(), damaged('workflow')), (source) => {
        const result = parseWorkflow(source, { functions: anyFunction });
        if (result.ok) return;
        expect(result.issues.length).toBeGreaterThan(0);
        for (const issue of result.issues) expect(issue.code).toMatch(/^ERR_[A-Z0-9_]+$/);
      }),
      { numRuns: 600 },
    );
  });

  it('an accepted definition can be started: the worst result is a fault', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(
        damaged('workflow'),
        fc.constantFrom<Json>({}, null, 'text', { pets: [1], start: 1 }),
        async (source, input) => {
          const result = parseWorkflow(source, { functions: anyFunction });
          if (!result.ok) return;
          accepted += 1;
          expect(parseWorkflow(result.workflow, { functions: anyFunction })).toEqual(result);
          const env = { now: '2026-01-01T00:00:00.000Z', executionId: 'e', evaluate: sharedPool().evaluate };
          const transition = await begin(result.workflow, input, env);
          expect(parseState(JSON.parse(JSON.stringify(transition.state)))).toEqual(transition.state);
        },
      ),
      { numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(10);
  });

  it('parseState throws, or returns its input', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), damaged('state')), (given) => {
        try {
          expect(parseState(given)).toEqual(given);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
        }
      }),
      { numRuns: 600 },
    );
  });
});
