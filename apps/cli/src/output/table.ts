import Table from 'cli-table3';
import type { Colours } from './output.js';
import { printable } from './printable.js';

export type Cell = string | number | boolean | null | undefined;

function toText(cell: Cell): string {
  return cell === null || cell === undefined || cell === '' ? '-' : printable(String(cell));
}

/** Columns narrower than this cannot be read. */
const narrowest = 10;

/**
 * The widths that fit: what does not is taken from the widest columns, which hold the prose. The first column names the
 * row, to be copied, so it keeps its width. Undefined when the others cannot be read then.
 */
function fit(wanted: number[], spare: number): number[] | undefined {
  const [name = 0, ...others] = wanted;
  for (let limit = Math.max(name, ...others); limit >= narrowest; limit -= 1) {
    const widths = [name, ...others.map((width) => Math.min(width, limit))];
    if (widths.reduce((sum, width) => sum + width, 0) <= spare) return widths;
  }
  return undefined;
}

/** Ruled and wrapped for people; on a terminal too narrow for that, one name and value a line. */
export function renderTable(head: string[], rows: Cell[][], width: number, colours: Colours): string {
  const texts = rows.map((row) => row.map(toText));
  const longest = head.map((title, column) => Math.max(title.length, ...texts.map((row) => row[column]?.length ?? 0)));
  const rules = head.length + 1;
  const colWidths = fit(
    longest.map((length) => length + 2),
    width - rules,
  );
  if (colWidths === undefined) {
    const names = Math.max(...head.map((title) => title.length)) + 2;
    const record = (row: string[]) =>
      row.map((text, column) => colours.bold((head[column] ?? '').padEnd(names)) + text);
    return texts.map((row) => record(row).join('\n')).join('\n\n');
  }
  const table = new Table({
    head: head.map((title) => colours.bold(title)),
    colWidths,
    wordWrap: true,
    wrapOnWordBoundary: false,
    style: { head: [], border: [] },
  });
  table.push(...texts);
  return table.toString();
}

/** One line a row, tabs between cells, no head: for `cut`, `awk` and `while read`. */
export function renderLines(rows: Cell[][]): string {
  return rows.map((row) => row.map(toText).join('\t')).join('\n');
}
