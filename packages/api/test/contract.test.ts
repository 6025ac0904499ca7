import { readdir } from 'node:fs/promises';
import type { AnyTRPCRouter } from '@trpc/server';
import { expect, it } from 'vitest';
import { serverRouter } from '../src/index.js';

interface Operation {
  kind: string;
  input?: unknown;
  output: unknown;
}

/** Returns the operations of every table in the contract. */
async function readOperations(): Promise<Operation[]> {
  const folder = new URL('../../contract/src/', import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts'));
  const modules = await Promise.all(
    files.map((file) => import(new URL(file, folder).href) as Promise<Record<string, object>>),
  );
  return modules
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name.endsWith('Operations'))
    .flatMap(([, table]) => Object.values(table) as Operation[]);
}

it('every procedure takes its input and output from one operation of the contract', async () => {
  const operations = await readOperations();
  const procedures = Object.entries(
    (serverRouter as AnyTRPCRouter)._def.procedures as unknown as Record<
      string,
      { _def: { type: string; inputs: unknown[]; output?: unknown } }
    >,
  );
  expect(procedures.length).toBeGreaterThan(40);
  const strangers = procedures.filter(
    ([, { _def }]) =>
      !operations.some(
        ({ kind, input, output }) =>
          kind === _def.type &&
          input === _def.inputs.at(-1) &&
          // tRPC has no parser for the output of a stream; the compiler checks its type.
          (kind === 'subscription' || output === _def.output),
      ),
  );
  expect(strangers.map(([path]) => path)).toEqual([]);
});
