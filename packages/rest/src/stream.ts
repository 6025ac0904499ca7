import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { csv, csvLine } from '@belay/contract/csv';

export const ndjson = 'application/x-ndjson';

/** The output of a streamed procedure; the router's output schema has checked it. */
export interface StreamPage {
  logs: readonly object[];
  next: string | null;
}

export interface StreamOptions {
  response: ServerResponse;
  /** The first page, read before the response starts, so that errors of the request have a status of their own. */
  first: StreamPage;
  /** Returns the page after a cursor. */
  page(cursor: string): Promise<StreamPage>;
  /** The columns of a list that is written as CSV; without them it is written as lines of JSON. */
  columns?: readonly string[] | undefined;
  /** Returns whether the caller's login is still valid. */
  stillAllowed(): Promise<boolean>;
}

/**
 * Writes a long list as lines of JSON or of CSV, one page at a time and no faster than the client reads, so that memory does not grow
 * with the list. When an error occurs, the response is cut off and not ended, so that the client does not take a part for the whole.
 */
export async function streamPages({ response, first, page, columns, stillAllowed }: StreamOptions): Promise<void> {
  const type = columns ? { 'Content-Disposition': 'attachment; filename="belay-audit-log.csv"' } : {};
  response.writeHead(200, { ...type, 'Content-Type': `${columns ? csv : ndjson}; charset=utf-8` });
  if (columns) response.write(csvLine(columns));
  const lineOf = (entry: object) =>
    columns
      ? csvLine(columns.map((column) => (entry as Record<string, unknown>)[column]))
      : `${JSON.stringify(entry)}\n`;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    for (let current = first; ; ) {
      const lines = current.logs.map(lineOf).join('');
      if (lines !== '' && !response.write(lines)) await once(response, 'drain', { signal: gone.signal });
      if (current.next === null) break;
      if (gone.signal.aborted || !(await stillAllowed())) throw new Error('The export ended early');
      current = await page(current.next);
    }
    response.end();
  } catch {
    // The error of a procedure is in the log already.
    response.destroy();
  }
}
