import type { Spread } from './spread.js';

/** Returns a Markdown table, as docs/benchmarks.md has them. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Returns a number with so many digits after the point. */
export const fixed = (value: number, digits = 0): string => value.toFixed(digits);

/** Returns the cells of a spread: p50, p99 and the worst. */
export function spreadCells({ p50, p99, max }: Spread): string[] {
  return [p50, p99, max].map((value) => fixed(value));
}
