import { printableJson } from '@belay/sdk';
import picocolors from 'picocolors';
import { printable } from './printable.js';
import { type Cell, renderLines, renderPairs, renderTable } from './table.js';

export type Colours = ReturnType<typeof picocolors.createColors>;

/** Where text goes; the part of a stream that the commands use. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** JSON on one line; what a terminal would obey is escaped, which JSON allows everywhere inside a string. */
export function toJson(document: unknown): string {
  return printableJson(JSON.stringify(document));
}

/** What a command shows: a JSON document with `--json`, tables on a terminal, plain lines in a pipe. */
export interface Output {
  readonly json: boolean;
  /** Standard output is a terminal. */
  readonly terminal: boolean;
  readonly colours: Colours;
  /** The command's result, once. */
  result(document: unknown, human: () => string): void;
  /** One of many results: one JSON document a line. */
  event(document: unknown, human: () => string): void;
  /** For people only: to standard error, and not at all with `--json`. */
  note(text: string): void;
  /** What people must read whatever the format: always to standard error. */
  notice(text: string): void;
  table(head: string[], rows: Cell[][], whenEmpty: string): string;
  /** Names and values, one a line. */
  fields(fields: Record<string, Cell>): string;
}

export interface OutputOptions {
  stdout: Sink;
  stderr: Sink;
  json: boolean;
  /** False when NO_COLOR is set; colours also need a terminal. */
  colour: boolean;
}

export function createOutput({ stdout, stderr, json, colour }: OutputOptions): Output {
  const terminal = stdout.isTTY === true;
  const colours = picocolors.createColors(colour && terminal);
  // Asked each time: a window changes its size while a command runs. A terminal that does not say has the usual 80.
  const width = () => stdout.columns || 80;
  const line = (sink: Sink, text: string) => void (text === '' || sink.write(`${text}\n`));
  return {
    json,
    terminal,
    colours,
    result: (document, human) => line(stdout, json ? toJson(document) : human()),
    event: (document, human) => line(stdout, json ? toJson(document) : human()),
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
      const pairs = entries.map(([name, value]) => [name, printable(String(value))] as const);
      return terminal
        ? renderPairs(pairs, width(), colours)
        : pairs.map(([name, text]) => `${name}\t${text}`).join('\n');
    },
  };
}
