import Table from 'cli-table3';
import stringWidth from 'fast-string-width';
import type picocolors from 'picocolors';
import { printable } from './printable.js';
import { wrapWords } from './wrap-words.js';

export type Colours = ReturnType<typeof picocolors.createColors>;
export type Cell = string | number | boolean | null | undefined;

function toText(cell: Cell): string {
  return cell === null || cell === undefined || cell === '' ? '-' : printable(String(cell));
}

/** The narrowest column for prose, in characters. */
const narrowest = 12;

/** The narrowest that a column can be without cutting a word, and the widest that it can use. */
function boundsOf(texts: readonly string[]): { least: number; most: number } {
  const most = Math.max(...texts.map((text) => stringWidth(text)));
  const longestWord = Math.max(...texts.flatMap((text) => text.split(' ')).map((word) => stringWidth(word)));
  return { least: Math.max(longestWord, Math.min(most, narrowest)), most };
}

/**
 * Returns the widths that fit: what is too much is taken from the widest columns, which hold the prose, and never from a
 * word, because identifiers are copied. Undefined when that is not possible.
 */
function fit(columns: readonly { least: number; most: number }[], spare: number): number[] | undefined {
  for (let limit = Math.max(...columns.map(({ most }) => most)); limit >= 1; limit -= 1) {
    const widths = columns.map(({ least, most }) => Math.max(least, Math.min(most, limit)));
    if (widths.reduce((sum, width) => sum + width, 0) <= spare) return widths;
  }
  return undefined;
}

/** Returns a ruled table that is wrapped at words; on a terminal too narrow for that, one name and value a line. */
export function renderTable(head: string[], rows: Cell[][], width: number, colours: Colours): string {
  const texts = rows.map((row) => row.map(toText));
  const columns = head.map((title, column) => boundsOf([title, ...texts.map((row) => row[column] ?? '-')]));
  // Each cell has a space on either side and a rule after it, and the first one a rule before it.
  const widths = fit(columns, width - 3 * head.length - 1);
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
  const wrap = (text: string, column: number) => wrapWords(text, widths[column] ?? narrowest);
  // Cells are wrapped before they are coloured, a line at a time: the table has nothing left to cut.
  const table = new Table({
    head: head.map((title, column) => wrap(title, column).map(colours.bold).join('\n')),
    style: { head: [], border: [] },
  });
  table.push(...texts.map((row) => row.map((text, column) => wrap(text, column).join('\n'))));
  return table.toString();
}

/** Returns names and values, one pair a line; a value that is too long goes on below itself. */
export function renderPairs(
  pairs: readonly (readonly [name: string, value: string])[],
  width: number,
  colours: Colours,
): string {
  const indent = Math.max(...pairs.map(([name]) => stringWidth(name))) + 2;
  return pairs
    .flatMap(([name, value]) =>
      wrapWords(value, Math.max(narrowest, width - indent)).map((line, index) =>
        index === 0 ? `${colours.bold(name.padEnd(indent))}${line}` : `${' '.repeat(indent)}${line}`,
      ),
    )
    .join('\n');
}

/** Returns one line a row, tabs between cells, no head: for `cut`, `awk` and `while read`. */
export function renderLines(rows: Cell[][]): string {
  return rows.map((row) => row.map(toText).join('\t')).join('\n');
}
