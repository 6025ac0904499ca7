import { printable } from '@belay/contract/printable';
import type { Command } from 'commander';
import type { Output } from './output/output.js';

export interface Paging {
  cursor?: string;
}

/** Adds the option with which a person continues a list. */
export function withCursor(command: Command): Command {
  return command.option('--cursor <cursor>', 'continue an earlier list: the cursor that it ended with');
}

/** Prints a note for people when a list continues on another page; the document that programs get contains `next`. */
export function noteMore(output: Output, { next }: { next: string | null }): void {
  if (next !== null) output.note(`more: --cursor ${printable(next)}`);
}
