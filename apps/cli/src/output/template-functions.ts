import stringWidth from 'fast-string-width';
import { CliError } from '../cli-error.js';
import { describeAgo } from '../duration.js';
import type { Colours } from './table.js';

/** Text that this program made. It may contain colour codes; the parts that came from the document are already printable. */
export class Styled {
  constructor(readonly text: string) {}
}

export type TemplateFunction = (...given: unknown[]) => unknown;

/** Returns whether a value is true in a template: false, zero, null, and an empty text, list or object are not. */
export function isTrue(value: unknown): boolean {
  if (typeof value === 'object' && value !== null && !(value instanceof Styled)) return Object.keys(value).length > 0;
  return Boolean(value);
}

function fail(message: string): never {
  throw new CliError('failed', `--template: ${message}`);
}

function listOf(value: unknown, name: string): unknown[] {
  return Array.isArray(value) ? value : fail(`${name} needs a list`);
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Styled) return value.text;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Returns a text cut to a width on the screen, with `…` at the end when something was cut. */
function truncate(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  for (const character of text) {
    if (stringWidth(kept + character) > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

const styles = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white',
  'gray',
  'bold',
  'dim',
  'underline',
] as const;

interface Surroundings {
  colours: Colours;
  clock(): Date;
  /** Returns a text of the document in a form that is safe to print. */
  shown(text: string): string;
}

/** Returns the functions of templates, by name. */
export function createFunctions({ colours, clock, shown }: Surroundings): Readonly<Record<string, TemplateFunction>> {
  const rows: string[][] = [];
  const same = (one: unknown, other: unknown) => one === other || textOf(one) === textOf(other);
  const color: TemplateFunction = (style, value) => {
    const chosen = styles.find((each) => each === style) ?? fail(`${textOf(style)} is not a colour`);
    return new Styled(colours[chosen](value instanceof Styled ? value.text : shown(textOf(value))));
  };
  return {
    and: (...given) => given.find((value) => !isTrue(value)) ?? given.at(-1),
    or: (...given) => given.find(isTrue) ?? given.at(-1),
    not: (value) => !isTrue(value),
    eq: (one, ...others) => others.some((other) => same(one, other)),
    ne: (one, other) => !same(one, other),
    lt: (one, other) => Number(one) < Number(other),
    gt: (one, other) => Number(one) > Number(other),
    len: (value) => (typeof value === 'string' ? value.length : Object.keys(value ?? {}).length),
    index: (value, key) => (value as Record<string, unknown> | null | undefined)?.[textOf(key)],
    join: (between, list) => listOf(list, 'join').map(textOf).join(textOf(between)),
    pluck: (field, list) =>
      listOf(list, 'pluck').map((item) => (item as Record<string, unknown> | null)?.[textOf(field)]),
    json: (value) => JSON.stringify(value),
    upper: (value) => textOf(value).toUpperCase(),
    lower: (value) => textOf(value).toLowerCase(),
    truncate: (width, value) => truncate(textOf(value), Number(width)),
    timeago: (value) => describeAgo(textOf(value), clock()) ?? '',
    color,
    autocolor: color,
    tablerow: (...cells) => {
      rows.push(cells.map((cell) => (cell instanceof Styled ? cell.text : shown(textOf(cell)))));
      return '';
    },
    tablerender: () => {
      const widths = rows.reduce<number[]>(
        (most, row) => row.map((cell, at) => Math.max(most[at] ?? 0, stringWidth(cell))),
        [],
      );
      const lines = rows.splice(0).map((row) =>
        row
          .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - stringWidth(cell)))
          .join('  ')
          .trimEnd(),
      );
      return new Styled(lines.map((line) => `${line}\n`).join(''));
    },
  };
}
