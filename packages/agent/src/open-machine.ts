import { resolve } from 'node:path';
import { removeUnfinished } from '@belay/host';
import { type Closing, clock, type Logger, randomBytes, readProgram } from '@belay/program';
import { holdFolder } from './data-folder.js';
import type { LocalEnvironment } from './environment.js';
import { createFiles, type Files, prepareFolder } from './files.js';
import { openSessionStore } from './session-store.js';
import { openKeyring, openStoreKey } from './store-key.js';
import type { LocalContext, LocalLedger, LocalLogEntry, SessionStore, Upstream } from './verbs/ports.js';

export interface StartAgentOptions {
  environment: LocalEnvironment;
  log: Logger;
  /** The environment variables of the process. On Linux, the desktop's keyring is used only if they name a session bus. */
  variables: Record<string, string | undefined>;
}

export interface RunningAgent {
  url: string;
  mode: 'agent' | 'client';
  /** The text that a start prints. */
  banner: string;
  /** Requests the configuration from the server now. Never rejects. */
  sync(): Promise<void>;
  /** Starts a sign-in from within this process; returns the address to open, and the code for POST /sessions. */
  beginLogin(provider?: string): { url: string; code: string };
  stop(): Promise<void>;
}

/** The parts that agent and client mode have in common: their own folder, with the sessions of this machine in it. */
export interface Machine {
  folder: string;
  files: Files;
  sessions: SessionStore;
  ledger: LocalLedger;
}

/** Locks the folder for this process and opens its sessions. Throws `StartError`. */
export async function openMachine(
  { environment, log, variables }: StartAgentOptions,
  closing: Closing,
): Promise<Machine> {
  const folder = resolve(environment.dataDirectory);
  const randomName = () => randomBytes(9).toString('base64url');
  await prepareFolder(folder);
  closing.add('the lock', await holdFolder(folder, randomName));
  await removeUnfinished(folder);
  const files = createFiles(randomName);
  const keyring = environment.keyring === 'off' ? undefined : await openKeyring(folder, variables);
  const key = await openStoreKey({ folder, files, keyring, randomBytes });
  const sessions = await openSessionStore({ folder, files, key, log, clock, randomBytes });
  return { folder, files, sessions, ledger: createLocalLedger(clock) };
}

/** Returns the context of the verbs of both modes, from the parts of this machine and the parts of one mode. */
export async function describeMachine(
  machine: Machine,
  given: Pick<LocalContext, 'mode' | 'log' | 'configuration' | 'logins' | 'skew'> & {
    upstream: Upstream;
    baseUrl: string;
    server: string;
  },
): Promise<LocalContext> {
  const { baseUrl, server, ...rest } = given;
  const { sessions, ledger } = machine;
  return { ...rest, sessions, ledger, clock, program: { ...(await readProgram()), baseUrl, server } };
}

/** The most entries that are kept. */
const most = 500;

/** Returns the log of this machine, in memory: the newest 500 entries (docs/architecture.md, section 3). */
export function createLocalLedger(clock: () => Date): LocalLedger {
  const ring: LocalLogEntry[] = [];
  return {
    append({ level = 'info', type, message, provider = '', user = '' }) {
      ring.push({
        timestamp: clock().toISOString(),
        level,
        message,
        provider,
        user,
        owner: user,
        workflow_id: '',
        type,
      });
      if (ring.length > most) ring.shift();
    },
    entries: () => [...ring].reverse(),
  };
}
