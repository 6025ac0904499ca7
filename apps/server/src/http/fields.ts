import type { ZodObject } from 'zod';
import { refuseField } from './refusal.js';

/** How the text of a query or a form becomes a value. Only where text is all there is; JSON bodies are never converted. */
export type FieldKind = 'text' | 'number' | 'list';
export type FieldKinds = ReadonlyMap<string, FieldKind>;

interface Definition {
  type: string;
  innerType?: { _zod: { def: Definition } };
}

function kindOf(definition: Definition): FieldKind {
  let inner = definition;
  while (inner.innerType !== undefined) inner = inner.innerType._zod.def;
  if (inner.type === 'array') return 'list';
  return inner.type === 'number' ? 'number' : 'text';
}

/** The kind of each field of an input schema, read once when the routes are made. */
export function fieldKinds(input: ZodObject | undefined): FieldKinds {
  if (input === undefined) return new Map();
  const shape = input.shape as Record<string, { _zod: { def: Definition } }>;
  return new Map(Object.entries(shape).map(([name, schema]) => [name, kindOf(schema._zod.def)]));
}

/**
 * Reads a query string or an urlencoded form. A list may be comma-separated, repeated, or both; any other key given
 * twice is refused (400), because two readers would choose differently. Unknown keys are left for the schema to refuse.
 * `skipEmpty` leaves out what has no value: a field of a form that nobody filled in.
 */
export function parseFields(
  encoded: string,
  kinds: FieldKinds,
  into: Record<string, unknown>,
  { skipEmpty = false }: { skipEmpty?: boolean } = {},
): void {
  if (encoded === '') return;
  for (const [key, value] of new URLSearchParams(encoded)) {
    if (skipEmpty && value === '') continue;
    const kind = kinds.get(key) ?? 'text';
    const before = into[key];
    if (kind === 'list') {
      into[key] = [...(Array.isArray(before) ? (before as unknown[]) : []), ...value.split(',')];
    } else if (before !== undefined) {
      throw refuseField(key, 'is given more than once');
    } else {
      into[key] = kind === 'number' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    }
  }
}
