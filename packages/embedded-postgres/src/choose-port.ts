import { findFreePort, isPortFree } from '@belay/host';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

const HOST = '127.0.0.1';

interface ChoosePortOptions {
  /** The port that the operator set; no other port is used then. */
  wanted: number | undefined;
  /** The port of the last start. */
  remembered: number | undefined;
  log(line: string): void;
}

/**
 * Returns the port of 127.0.0.1 to listen on: the operator's; else the remembered one if it is free; else a free one.
 *
 * @throws EmbeddedPostgresError `port_taken` when the operator's port is not free, `start_failed` when the system has
 * no free port.
 */
export async function choosePort({ wanted, remembered, log }: ChoosePortOptions): Promise<number> {
  if (wanted !== undefined) {
    if (await isPortFree(wanted, HOST)) {
      return wanted;
    }
    throw new EmbeddedPostgresError(
      'port_taken',
      `Port ${wanted} of the embedded PostgreSQL is in use or not allowed on 127.0.0.1: set another port, or none to use a free one.`,
    );
  }
  if (remembered !== undefined && (await isPortFree(remembered, HOST))) {
    return remembered;
  }
  const port = await findFreePort(HOST).catch((cause: unknown) => {
    const message = 'The system has no free port on 127.0.0.1: check the loopback interface.';
    throw new EmbeddedPostgresError('start_failed', message, { cause });
  });
  if (remembered !== undefined) {
    log(`port ${remembered} is taken, PostgreSQL now listens on ${port}`);
  }
  return port;
}
