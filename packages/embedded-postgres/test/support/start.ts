import postgres from 'postgres';
import {
  type EmbeddedPostgres,
  EmbeddedPostgresError,
  type StartEmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../src/index.js';

/** Starts the server in this process, from the sources. */
export function start(
  dataDirectory: string,
  options: Partial<StartEmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDirectory, ...options });
}

/** Returns the error of a start that must not succeed. Throws when it is not our own error with a message of one line. */
export async function refusal(starting: Promise<EmbeddedPostgres>): Promise<EmbeddedPostgresError> {
  const error: unknown = await starting.then(
    (server) => server.stop().then(() => new Error('it started')),
    (reason: unknown) => reason,
  );
  if (!(error instanceof EmbeddedPostgresError) || error.message.includes('\n')) {
    throw error;
  }
  return error;
}

/** Runs a query over a connection of its own. */
export async function query<Row extends object>(url: string, text: string): Promise<Row[]> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined, fetch_types: false });
  try {
    return [...(await sql.unsafe<Row[]>(text))];
  } finally {
    await sql.end({ timeout: 2 });
  }
}
