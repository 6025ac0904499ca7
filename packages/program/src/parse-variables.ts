import { z } from 'zod';
import { StartError } from './start-error.js';

/**
 * Parses environment variables; an empty variable counts as not set. Throws `StartError` with one line that names every wrong
 * variable and its cure, and never the value of a `secret` variable.
 */
export function parseVariables<Schema extends z.ZodType>(
  schema: Schema,
  env: Record<string, string | undefined>,
  secret: readonly string[],
): z.output<Schema> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const value = given[name];
    const found = secret.includes(name) || value === undefined ? 'is not valid' : `is ${JSON.stringify(value)}`;
    return `${name} ${found}: ${issue.message}`;
  });
  throw new StartError(lines.join('; '));
}

/** Returns the schema of a variable that says which port to listen on. */
export function portVariable(otherwise: number) {
  return z
    .string()
    .default(String(otherwise))
    .refine((value) => /^\d{1,5}$/.test(value) && Number(value) <= 65_535, {
      error: 'use a number from 1 to 65535, or 0 for any free port',
    })
    .transform(Number);
}
