import { printableJson, printableLines } from '@belay/contract/printable';
import { CliError, usage } from '../cli-error.js';
import type { Template } from './template.js';

/** Runs a jq program on a JSON text; returns what it prints, strings without quotes. */
export interface Jq {
  raw(input: string, program: string, flags: string[]): string | undefined;
}

/** The options that choose the format of the output; see `readFormat`. */
export interface FormatOptions {
  /** The value of `--json`: field names separated by commas; empty for the whole document. */
  json?: string;
  jq?: string;
  template?: string;
}

/** Returns the part of a document whose fields `--json a,b` selects: its items, or undefined for the document itself. */
export type Items = (document: Record<string, unknown>) => unknown;

/** Formats a document for programs. */
export type Format = (document: unknown) => string;

interface Surroundings {
  items: Items | undefined;
  /** Whether the text goes to a terminal, which must not receive control characters that other people wrote. */
  terminal: boolean;
  colour: boolean;
  clock(): Date;
  loadJq(): Promise<Jq>;
}

/**
 * Returns the format that the options select; undefined for the text for people. Throws `usage` for a program or template that cannot be
 * parsed, before the command sends anything.
 */
export async function readFormat(options: FormatOptions, around: Surroundings): Promise<Format | undefined> {
  const { json, jq, template } = options;
  if (json === undefined && jq === undefined && template === undefined) return undefined;
  if (jq !== undefined && template !== undefined) throw usage('--jq and --template cannot be used together');
  const fields = (json ?? '').split(',').map((field) => field.trim());
  const select: (document: unknown) => unknown =
    json === undefined || json === '' ? (document) => document : (document) => pick(document, fields, around.items);
  if (jq !== undefined) {
    const run = await openJq(jq, around);
    return (document) => run(select(document));
  }
  if (template !== undefined) {
    const { parseTemplate } = await import('./template.js');
    const parsed: Template = parseTemplate(template, around);
    return (document) => parsed(select(document)).replace(/\n$/, '');
  }
  return (document) => toJson(select(document));
}

/** Formats JSON on one line, with control characters escaped, which JSON allows inside strings. */
export function toJson(document: unknown): string {
  return printableJson(JSON.stringify(document));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the fields of a document, or of each of its items. */
function pick(document: unknown, fields: readonly string[], items: Items | undefined): unknown {
  const found = items !== undefined && isRecord(document) ? items(document) : undefined;
  const all = Array.isArray(found) ? found.filter(isRecord) : [isRecord(document) ? document : {}];
  const known = new Set(all.flatMap((item) => Object.keys(item)));
  // Only commands that read reject an unknown field. Other commands have already changed something when their output is
  // printed.
  const wrong = items === undefined || known.size === 0 ? undefined : fields.find((field) => !known.has(field));
  if (wrong !== undefined) {
    throw usage(`--json: ${JSON.stringify(wrong)} is not a field; available: ${[...known].sort().join(', ')}`);
  }
  const picked = all.map((item) => Object.fromEntries(fields.map((field) => [field, item[field] ?? null])));
  return Array.isArray(found) ? picked : picked[0];
}

/** jq's exit code for a program that cannot be compiled. */
const notCompiled = 3;

async function openJq(program: string, { loadJq, terminal }: Surroundings): Promise<Format> {
  const jq = await loadJq();
  const run = (input: string, text: string) => {
    try {
      return jq.raw(input, text, ['-r', '-c']) ?? '';
    } catch (error) {
      const lines = error instanceof Error ? error.message.split('\n').slice(1) : [];
      const why = lines.join(' ').replace(/^jq: error:? ?(\(at [^)]*\): )?/, '');
      const compiled = !(error instanceof Error && 'exitCode' in error && error.exitCode === notCompiled);
      throw new CliError(compiled ? 'failed' : 'usage', `--jq: ${why.trim() || 'jq stopped'}`, { cause: error });
    }
  };
  // Compiles the program without running it, to report its errors early.
  run('null', `if false then (${program}\n) else empty end`);
  return (document) => {
    const text = run(JSON.stringify(document), program);
    return terminal ? printableLines(text) : text;
  };
}
