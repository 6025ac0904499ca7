import picocolors from 'picocolors';
import { describeAgo, describeDuration, readDuration } from '../duration.js';
import type { Format } from './format.js';
import { type Cell, type Colours, renderLines, renderPairs, renderTable, type Short, toText } from './table.js';

/** The part of an output stream that the commands use. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/**
 * The output of a command: for programs the format of `--json`, `--jq` or `--template`; otherwise tables on a terminal, and plain lines in
 * a pipe.
 */
export interface Output {
  /** Whether the output is for a program. */
  readonly json: boolean;
  /** Whether standard output is a terminal. */
  readonly terminal: boolean;
  readonly colours: Colours;
  /** Prints the command's result, once. */
  result(document: unknown, human: () => string): void;
  /** Prints one of many results: one JSON document per line. */
  event(document: unknown, human: () => string): void;
  /** Prints a note for people to standard error; nothing when the output is for a program. */
  note(text: string): void;
  /** Prints a text that people must read to standard error, in every format. */
  notice(text: string): void;
  table(head: string[], rows: Cell[][], whenEmpty: string): string;
  /** Formats names and values, one pair per line. */
  fields(fields: Record<string, Cell>): string;
  /** Returns the ids in the given order; for a terminal, each as its shortest unique beginning. */
  ids(ids: readonly string[]): Short[];
  /** Returns an ISO 8601 instant; for a terminal, as the time from now. */
  time(instant: string | null | undefined): Short | undefined;
  /** Returns an ISO 8601 duration; for a terminal, in the form `1d 3h`. */
  duration(duration: string): Short;
}

export interface OutputOptions {
  stdout: Sink;
  stderr: Sink;
  format: Format | undefined;
  clock(): Date;
  /** False when NO_COLOR is set or TERM is `dumb`; colours also need a terminal. */
  colour: boolean;
}

/** The fewest characters of an id that are shown: they hold the millisecond in which it was made. */
const shortest = 13;

/** Returns the shortest unique beginning of an id. */
function shorten(id: string, others: readonly string[]): string {
  for (let length = shortest; length < id.length; length += 1) {
    const beginning = id.slice(0, length);
    if (!beginning.endsWith('-') && others.every((other) => other === id || !other.startsWith(beginning)))
      return beginning;
  }
  return id;
}

export function createOutput({ stdout, stderr, format, clock, colour }: OutputOptions): Output {
  const terminal = stdout.isTTY === true;
  const colours = picocolors.createColors(colour && terminal);
  // Read each time, because a window can be resized while a command runs. Default: 80 columns.
  const width = () => stdout.columns || 80;
  const json = format !== undefined;
  const line = (sink: Sink, text: string) => void (text === '' || sink.write(`${text}\n`));
  return {
    json,
    terminal,
    colours,
    result: (document, human) => line(stdout, format?.(document) ?? human()),
    event: (document, human) => line(stdout, format?.(document) ?? human()),
    note: (text) => void (json || line(stderr, text)),
    notice: (text) => line(stderr, text),
    table: (head, rows, whenEmpty) => {
      if (!terminal) return renderLines(rows);
      return rows.length === 0 ? colours.dim(whenEmpty) : renderTable(head, rows, width(), colours);
    },
    fields: (fields) => {
      const entries = Object.entries(fields).filter(
        ([, value]) => value !== null && value !== undefined && value !== '',
      );
      const pairs = entries.map(([name, value]) => [name, toText(value, terminal)] as const);
      return terminal
        ? renderPairs(pairs, width(), colours)
        : pairs.map(([name, text]) => `${name}\t${text}`).join('\n');
    },
    ids: (ids) => ids.map((id) => ({ whole: id, terminal: shorten(id, ids) })),
    time: (instant) => (instant ? { whole: instant, terminal: describeAgo(instant, clock()) ?? instant } : undefined),
    duration: (duration) => {
      const milliseconds = readDuration(duration);
      return { whole: duration, terminal: milliseconds === undefined ? duration : describeDuration(milliseconds) };
    },
  };
}
