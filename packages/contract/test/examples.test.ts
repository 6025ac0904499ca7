import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { exampleOf } from '../src/examples.js';

interface Operation {
  input?: z.ZodType;
  output: z.ZodType;
}

async function readOperations(): Promise<[string, Operation][]> {
  const folder = new URL('../src/', import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts'));
  const modules = await Promise.all(
    files.map((file) => import(new URL(file, folder).href) as Promise<Record<string, object>>),
  );
  return modules
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name.endsWith('Operations'))
    .flatMap(([table, operations]) =>
      Object.entries(operations as Record<string, Operation>).map(([name, operation]): [string, Operation] => [
        `${table}.${name}`,
        operation,
      ]),
    );
}

it('makes an example of every input and output, which its own schema accepts unchanged', async () => {
  const operations = await readOperations();
  expect(operations.length).toBeGreaterThan(80);
  const wrong: unknown[] = [];
  const check = (name: string, schema: z.ZodType, direction: 'input' | 'output') => {
    try {
      const example = exampleOf(schema, direction);
      const parsed = schema.safeParse(example);
      if (!parsed.success) wrong.push([name, direction, parsed.error.issues]);
      else if (direction === 'output') expect(parsed.data, name).toEqual(example);
    } catch (error) {
      wrong.push([name, direction, String(error)]);
    }
  };
  for (const [name, { input, output }] of operations) {
    if (input !== undefined) check(name, input, 'input');
    check(name, output, 'output');
  }
  expect(wrong).toEqual([]);
});
