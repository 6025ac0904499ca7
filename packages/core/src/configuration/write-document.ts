import { createHash } from 'node:crypto';
import { canonicalJson } from '@belay/contract/canonical';
import type { Breathe } from '../breathe.js';

/**
 * Returns the canonical JSON of a configuration and its digest, equal to those of `canonicalJson` and `digestOf`,
 * computed in pieces.
 */
export async function writeDocument(document: object, breathe: Breathe): Promise<{ text: string; digest: string }> {
  const hash = createHash('sha256');
  let text = '';
  const write = (piece: string) => {
    text += piece;
    hash.update(piece);
  };
  write('{');
  for (const [index, [key, section]] of inOrder(document).entries()) {
    write(`${index > 0 ? ',' : ''}${JSON.stringify(key)}:`);
    if (!isMapping(section)) {
      write(canonicalJson(section));
      continue;
    }
    write('{');
    for (const [place, [name, entry]] of inOrder(section).entries()) {
      write(`${place > 0 ? ',' : ''}${JSON.stringify(name)}:${canonicalJson(entry)}`);
      await breathe();
    }
    write('}');
  }
  write('}');
  return { text, digest: hash.digest('base64url') };
}

function inOrder(value: object): [string, unknown][] {
  return Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

function isMapping(value: unknown): value is object {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
