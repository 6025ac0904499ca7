import { join } from 'node:path';
import { explainDisk, findHolder } from './data-folder.js';
import { createFiles } from './files.js';
import { readIdentity } from './identity.js';

export interface AgentStatus {
  dataDirectory: string;
  /** The process that runs on this folder; undefined when none does. */
  pid: number | undefined;
  /** Where it listens; undefined when none does. */
  url: string | undefined;
  /** Undefined when this machine was never enrolled. */
  server: string | undefined;
  name: string | undefined;
  /** True when the enrolment went through to its end. */
  enrolled: boolean;
}

/** Returns what can be said of an agent without asking it; `GET <url>/health` says the rest. Reads no secret out. Throws `StartError`. */
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

/** Returns the file that says where a running agent listens. */
export function addressPath(dataDirectory: string): string {
  return join(dataDirectory, 'address');
}
