import { createClient, isBelayError } from '@belay/sdk';
import { CliError } from '../cli-error.js';
import { type Connection, connect } from '../connect.js';
import { explainNetwork } from '../explain-network.js';
import type { Shell } from '../shell.js';
import { within } from '../within.js';
import type { ServerAnswer } from './check.js';

/** How long the server may take to report its health, in milliseconds. */
const patience = 10_000;

/** Requests the health of the server that commands would use, once and without retries. */
export async function askServer(shell: Shell, option: string | undefined): Promise<ServerAnswer> {
  let connection: Connection;
  try {
    connection = await connect(shell, option, 'server');
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { connection: undefined, answer: undefined, fault: error.message };
  }
  const client = createClient({ url: connection.server, retry: { attempts: 1 } });
  const signal = within(shell.signal, patience);
  try {
    const asked = shell.clock().getTime();
    const ready = await client.system.ready({ signal });
    const answered = shell.clock().getTime();
    const health = await client.system.health({ signal });
    return {
      connection,
      answer: {
        version: ready.version,
        ready: ready.status === 'ready',
        status: health.status,
        health: health.services,
        // The server read its clock at some time between the request and the response; the middle is the best estimate.
        skew: (asked + answered) / 2 - Date.parse(ready.timestamp),
      },
    };
  } catch (error) {
    shell.signal.throwIfAborted();
    if (!isBelayError(error)) throw error;
    const late = error.code === 'aborted' ? 'no response within ten seconds' : error.message;
    return { connection, answer: undefined, fault: explainNetwork(error) ?? late };
  }
}
