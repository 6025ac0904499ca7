import { join } from 'node:path';
import { explainDisk, findHolder } from './data-folder.js';
import { createFiles } from './files.js';
import { readIdentity } from './identity.js';

export interface AgentStatus {
  dataDirectory: string;
  /** The process that uses this folder; undefined when there is none. */
  pid: number | undefined;
  /** The address that the process listens on; undefined when there is none. */
  url: string | undefined;
  /** Undefined when this machine was never enrolled. */
  server: string | undefined;
  name: string | undefined;
  /** Whether the enrolment is complete. */
  enrolled: boolean;
}

/** Returns the status of an agent without a request to it; `GET <url>/health` reports the rest. Contains no secret. Throws `StartError`. */
export async function readAgentStatus(dataDirectory: string): Promise<AgentStatus> {
  const files = createFiles(() => 'status');
  const [pid, identity, address] = await Promise.all([
    findHolder(dataDirectory),
    readIdentity(dataDirectory, files),
    files.read(addressPath(dataDirectory)),
  ]).catch((error: unknown) => {
    throw explainDisk(error, dataDirectory);
  });
  return {
    dataDirectory,
    pid,
    url: pid === undefined ? undefined : address?.toString('utf8').trim(),
    server: identity?.server,
    name: identity?.name,
    enrolled: identity?.key != null,
  };
}

/** Returns the path of the file with the address of a running agent. */
export function addressPath(dataDirectory: string): string {
  return join(dataDirectory, 'address');
}
