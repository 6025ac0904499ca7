import { printable } from '@belay/contract/printable';
import stringWidth from 'fast-string-width';
import { wrapAnsi } from 'fast-wrap-ansi';
import type picocolors from 'picocolors';

export type Colours = ReturnType<typeof picocolors.createColors>;
/** A text with a short form for people at a terminal, and the whole text for programs. */
export interface Short {
  terminal: string;
  whole: string;
}
export type Cell = string | number | boolean | null | undefined | Short;

/** Returns the text of a cell; the short form only for a terminal. */
export function toText(cell: Cell, terminal: boolean): string {
  const text = typeof cell === 'object' ? (terminal ? cell?.terminal : cell?.whole) : cell;
  return text === null || text === undefined || text === '' ? '-' : printable(String(text));
}

/** The narrowest column for prose, in characters. */
const narrowest = 12;

/** Returns the smallest width of a column that cuts no word, and the largest width that it can use. */
function boundsOf(texts: readonly string[]): { least: number; most: number } {
  const most = Math.max(...texts.map((text) => stringWidth(text)));
  const longestWord = Math.max(...texts.flatMap((text) => text.split(' ')).map((word) => stringWidth(word)));
  return { least: Math.max(longestWord, Math.min(most, narrowest)), most };
}

/**
 * Returns column widths that fit into the space. The widest columns, which hold the prose, shrink first; no column becomes narrower than
 * its longest word, because people copy identifiers. Undefined when the columns cannot fit.
 */
function fit(columns: readonly { least: number; most: number }[], spare: number): number[] | undefined {
  for (let limit = Math.max(...columns.map(({ most }) => most)); limit >= 1; limit -= 1) {
    const widths = columns.map(({ least, most }) => Math.max(least, Math.min(most, limit)));
    if (widths.reduce((sum, width) => sum + width, 0) <= spare) return widths;
  }
  return undefined;
}

/** The space between two columns. */
const gap = '  ';

/**
 * Returns a table without borders, wrapped between words. On a terminal that is too narrow, returns one `name value`
 * pair per line.
 */
export function renderTable(head: string[], rows: Cell[][], width: number, colours: Colours): string {
  const texts = rows.map((row) => row.map((cell) => toText(cell, true)));
  const titles = head.map((title) => title.toUpperCase());
  const columns = titles.map((title, column) => boundsOf([title, ...texts.map((row) => row[column] ?? '-')]));
  const widths = fit(columns, width - gap.length * (head.length - 1));
  if (widths === undefined) {
    return texts
      .map((row) =>
        renderPairs(
          row.map((text, column) => [head[column] ?? '', text] as const),
          width,
          colours,
        ),
      )
      .join('\n\n');
  }
  return [
    ...layOut(titles, widths).map((line) => colours.dim(line)),
    ...texts.flatMap((row) => layOut(row, widths)),
  ].join('\n');
}

/** Returns the lines of one row. Each cell is wrapped in its column; colours are added later, to whole lines. */
function layOut(row: readonly string[], widths: readonly number[]): string[] {
  const cells = row.map((text, column) => wrapWords(text, widths[column] ?? narrowest));
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, column) => pad(lines[line] ?? '', widths[column] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}

/** Returns one name and value per line; a value that is too long continues on the next line, below its beginning. */
export function renderPairs(
  pairs: readonly (readonly [name: string, value: string])[],
  width: number,
  colours: Colours,
): string {
  const indent = Math.max(...pairs.map(([name]) => stringWidth(name))) + 2;
  return pairs
    .flatMap(([name, value]) =>
      wrapWords(value, Math.max(narrowest, width - indent)).map((line, index) =>
        index === 0 ? `${colours.bold(pad(name, indent))}${line}` : `${' '.repeat(indent)}${line}`,
      ),
    )
    .join('\n');
}

/** Returns one line per row, with tabs between cells and no header: for `cut`, `awk` and `while read`. */
export function renderLines(rows: Cell[][]): string {
  return rows.map((row) => row.map((cell) => toText(cell, false)).join('\t')).join('\n');
}

/** Wraps a text between words and returns its lines. A word that is longer than the width stays whole. */
function wrapWords(text: string, width: number): string[] {
  return wrapAnsi(text, width, { hard: false, trim: true }).split('\n');
}
