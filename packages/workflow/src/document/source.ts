import { isStorable } from '@belay/contract/text';
import { parseDocument } from 'yaml';
import { BEYOND, pointerSegment } from '../json.js';
import type { Issue, Json } from '../types.js';

const LONGEST = 1_000_000;
const DEEPEST = 100;

/**
 * Returns a definition as plain JSON, from YAML or JSON text or from an object. Anything that is not JSON is an issue.
 */
export function readSource(source: unknown): { ok: true; value: Json } | { ok: false; issues: Issue[] } {
  let value = source;
  if (typeof source === 'string') {
    if (source.length > LONGEST) return refuse('ERR_SOURCE', '', `longer than ${LONGEST} characters`);
    const document = parseDocument(source, {
      schema: 'core',
      uniqueKeys: true,
      prettyErrors: true,
      logLevel: 'silent',
    });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) return refuse('ERR_SOURCE', '', problem.message.split('\n')[0] ?? 'not valid YAML');
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch {
      return refuse('ERR_SOURCE', '', 'too many YAML aliases');
    }
  }
  const problem: { path: string; message: string }[] = [];
  const copied = copy(value, '', 0, (path, message) => problem.push({ path, message }));
  if (problem.length > 0) return { ok: false, issues: problem.map((each) => ({ code: 'ERR_SOURCE', ...each })) };
  return { ok: true, value: copied };
}

function refuse(code: string, path: string, message: string): { ok: false; issues: Issue[] } {
  return { ok: false, issues: [{ code, path, message }] };
}

function copy(value: unknown, path: string, depth: number, refused: (path: string, message: string) => void): Json {
  if (typeof value === 'string') {
    if (!isStorable(value)) refused(path, BEYOND.text);
    return value;
  }
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (depth > DEEPEST) {
    refused(path, `nested deeper than ${DEEPEST} levels`);
    return null;
  }
  if (Array.isArray(value)) return value.map((item, index) => copy(item, `${path}/${index}`, depth + 1, refused));
  if (typeof value === 'object' && [Object.prototype, null].includes(Object.getPrototypeOf(value))) {
    const entries: [string, Json][] = [];
    for (const [key, item] of Object.entries(value)) {
      const at = `${path}/${pointerSegment(key)}`;
      if (key === '__proto__') refused(at, '__proto__ must not be a key');
      else if (!isStorable(key)) refused(at, BEYOND.text);
      else if (item !== undefined) entries.push([key, copy(item, at, depth + 1, refused)]);
    }
    return Object.fromEntries(entries);
  }
  refused(path, 'cannot be represented in JSON');
  return null;
}
