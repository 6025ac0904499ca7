import type { ZodObject } from 'zod';
import { refuseField } from './refusal.js';

/** How the text of a query or a form becomes a value. JSON bodies are never converted. */
export type FieldKind = 'text' | 'number' | 'list' | 'list with items';

export interface FieldKinds {
  get(name: string): FieldKind | undefined;
  /** Whether unknown names are ignored, because providers add parameters of their own. */
  loose: boolean;
}

interface Definition {
  type: string;
  innerType?: { _zod: { def: Definition } };
  checks?: readonly { _zod: { def: { check: string } } }[];
}

function kindOf(definition: Definition): FieldKind {
  let inner = definition;
  while (inner.innerType !== undefined) inner = inner.innerType._zod.def;
  if (inner.type === 'array') {
    const needsItems = inner.checks?.some(({ _zod }) => _zod.def.check === 'min_length') ?? false;
    return needsItems ? 'list with items' : 'list';
  }
  return inner.type === 'number' ? 'number' : 'text';
}

/** Returns the kind of each field of an input schema. Called once for each operation. */
export function fieldKinds(input: ZodObject | undefined): FieldKinds {
  if (input === undefined) return { get: () => undefined, loose: false };
  const shape = input.shape as Record<string, { _zod: { def: Definition } }>;
  const kinds = new Map(Object.entries(shape).map(([name, schema]) => [name, kindOf(schema._zod.def)]));
  const { catchall } = input._zod.def;
  return { get: (name) => kinds.get(name), loose: catchall?._zod.def.type !== 'never' };
}

/**
 * Reads a query string or an urlencoded form into `into`. A list may be comma-separated, repeated, or both. Throws 400 for any other
 * key that is given twice, because readers differ in which value they take, and for bytes that are not UTF-8. Unknown keys are left
 * for the schema to reject. `skipEmpty` leaves out fields without a value, which a form sends for empty inputs; a list that must have
 * items is kept, because it would mean "all" if it were absent.
 */
export function parseFields(
  encoded: string,
  kinds: FieldKinds,
  into: Record<string, unknown>,
  { skipEmpty = false }: { skipEmpty?: boolean } = {},
): void {
  if (encoded === '') return;
  for (const [key, value] of decodePairs(encoded, kinds)) {
    const kind = kinds.get(key) ?? 'text';
    if (skipEmpty && value === '' && kind !== 'list with items') continue;
    const before = into[key];
    if (kind === 'list' || kind === 'list with items') {
      const items = value === '' ? [] : value.split(',');
      into[key] = [...(Array.isArray(before) ? (before as unknown[]) : []), ...items];
    } else if (before !== undefined) {
      throw refuseField(key, 'is given more than once');
    } else {
      into[key] = kind === 'number' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    }
  }
}

/** Yields the decoded pairs. `URLSearchParams` alone would replace bytes that are not UTF-8 instead of rejecting them. */
function* decodePairs(encoded: string, kinds: FieldKinds): Generator<[key: string, value: string]> {
  for (const pair of encoded.split('&')) {
    if (pair === '') continue;
    const [lenient] = new URLSearchParams(pair);
    const [name = '', value = ''] = lenient ?? [];
    if (kinds.loose && kinds.get(name) === undefined) continue;
    const at = pair.indexOf('=');
    const raw = at < 0 ? [pair] : [pair.slice(0, at), pair.slice(at + 1)];
    if (!raw.every(isText)) throw refuseField(name, 'is not percent-encoded UTF-8');
    yield [name, value];
  }
}

/** Returns whether a piece of a query or a form is percent-encoded UTF-8. */
function isText(piece: string): boolean {
  try {
    decodeURIComponent(piece);
    return true;
  } catch {
    return false;
  }
}
