import { pathText } from '@belay/contract/errors';
import { z } from 'zod';
import type { Breathe } from '../breathe.js';
import { type ConfigurationIssue, issuesOfShape } from './issue.js';
import { type CatalogDocument, catalogSchema } from './schema.js';

/** The sections that may be long, and are checked entry by entry. */
const long = ['providers', 'roles', 'workflows'] as const;
const short = catalogSchema.omit({ providers: true, roles: true, workflows: true });
/** The order in which the schema reports its issues; the issues of the document itself come last. */
const order = Object.keys(catalogSchema.shape);
/** Keeps the written value in the issues, because messages name its kind. */
const reporting = { reportInput: true };

type Parsed = { ok: true; document: CatalogDocument } | { ok: false; issues: ConfigurationIssue[] };

/** Checks the shape of a configuration: returns the result and the issues of `catalogSchema`, computed in pieces. */
export async function parseCatalog(given: unknown, breathe: Breathe): Promise<Parsed> {
  // A value that is not a mapping has no parts.
  if (!isMapping(given)) return conclude(catalogSchema.safeParse(given, reporting));
  const rest = short.safeParse(Object.fromEntries(Object.entries(given).filter(([key]) => !isLong(key))), reporting);
  const issues = rest.success ? [] : [...rest.error.issues];
  const sections: Partial<Record<(typeof long)[number], unknown>> = {};
  for (const key of long) {
    const section = given[key];
    const { shape } = catalogSchema;
    if (!isMapping(section)) {
      const parsed = z.object({ [key]: shape[key] }).safeParse({ [key]: section }, reporting);
      if (parsed.success) sections[key] = parsed.data[key];
      else issues.push(...parsed.error.issues);
      continue;
    }
    const entries: [string, unknown][] = [];
    for (const entry of Object.entries(section)) {
      const parsed = shape[key].safeParse(Object.fromEntries([entry]), reporting);
      if (parsed.success) entries.push(...Object.entries(parsed.data));
      else issues.push(...parsed.error.issues.map((issue) => ({ ...issue, path: [key, ...issue.path] })));
      await breathe();
    }
    sections[key] = Object.fromEntries(entries);
  }
  if (rest.success && issues.length === 0)
    return { ok: true, document: { ...rest.data, ...sections } as CatalogDocument };
  const place = ({ path: [first] }: z.core.$ZodIssue) =>
    first === undefined ? order.length : order.indexOf(String(first));
  return refuse(issues.sort((one, other) => place(one) - place(other)));
}

function conclude(parsed: z.ZodSafeParseResult<CatalogDocument>): Parsed {
  return parsed.success ? { ok: true, document: parsed.data } : refuse(parsed.error.issues);
}

function refuse(issues: readonly z.core.$ZodIssue[]): Parsed {
  return { ok: false, issues: issues.flatMap((issue) => issuesOfShape(issue, catalogSchema, pathText)) };
}

function isLong(key: string): boolean {
  return long.some((one) => one === key);
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
