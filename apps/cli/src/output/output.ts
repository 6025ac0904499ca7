import { printableJson } from '@belay/sdk';
import picocolors from 'picocolors';
import { printable } from './printable.js';
import { type Cell, type Colours, renderLines, renderPairs, renderTable } from './table.js';

/** The part of an output stream that the commands use. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** Formats JSON on one line, with control characters escaped, which JSON allows inside strings. */
export function toJson(document: unknown): string {
  return printableJson(JSON.stringify(document));
}

/** The output of a command: a JSON document with `--json`, tables on a terminal, plain lines in a pipe. */
export interface Output {
  readonly json: boolean;
  /** Standard output is a terminal. */
  readonly terminal: boolean;
  readonly colours: Colours;
  /** Prints the command's result, once. */
  result(document: unknown, human: () => string): void;
  /** Prints one of many results: one JSON document per line. */
  event(document: unknown, human: () => string): void;
  /** Prints a note for people to standard error; nothing with `--json`. */
  note(text: string): void;
  /** Prints a text that people must read to standard error, in every format. */
  notice(text: string): void;
  table(head: string[], rows: Cell[][], whenEmpty: string): string;
  /** Formats names and values, one pair per line. */
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
  // Read each time, because a window can be resized while a command runs. Default: 80 columns.
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
