import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

export const ndjson = 'application/x-ndjson';

/** What a streamed procedure answers; the router's output schema has checked it. */
export interface StreamPage {
  logs: readonly object[];
  next: string | null;
}

export interface StreamOptions {
  response: ServerResponse;
  /** Already read, so that what is wrong with the request was said before. */
  first: StreamPage;
  /** The page after a cursor. */
  page(cursor: string): Promise<StreamPage>;
  /** Whether the caller's login still stands. */
  stillAllowed(): Promise<boolean>;
}

/**
 * Writes a long list as lines of JSON, one page at a time and no faster than the client reads, so that it needs the
 * same memory however long it is. Cut off, not ended, when it cannot go on: a client must not take a part for the
 * whole.
 */
export async function streamPages({ response, first, page, stillAllowed }: StreamOptions): Promise<void> {
  response.writeHead(200, { 'Content-Type': `${ndjson}; charset=utf-8` });
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    for (let current = first; ; ) {
      const lines = current.logs.map((entry) => `${JSON.stringify(entry)}\n`).join('');
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
