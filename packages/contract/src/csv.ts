import type { AuditEntry } from './admin.js';

export const csv = 'text/csv';

/** The columns of an export of the audit log. */
export const auditColumns = [
  'timestamp',
  'level',
  'type',
  'actor',
  'user',
  'role',
  'provider',
  'execution_id',
  'message',
  'data',
  'id',
] as const satisfies readonly (keyof AuditEntry)[];

/** The start of a cell that a spreadsheet takes for a formula (OWASP, CSV injection); a tab or a line break can hide a formula. */
const formula = /^[\s\p{C}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;

/**
 * Returns a line of CSV (RFC 4180) with every cell in quotes. A cell that a spreadsheet would calculate gets an
 * apostrophe before it, so that it is shown as text.
 */
export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map((cell) => quote(textOf(cell))).join(',')}\r\n`;
}

function textOf(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
}

function quote(text: string): string {
  return `"${(formula.test(text) ? `'${text}` : text).replace(/"/g, '""')}"`;
}
