import { parseVariables, portVariable, StartError } from '@belay/program';
import { z } from 'zod';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** The settings of agent and client mode. Paths are kept as the user wrote them. */
export interface LocalEnvironment {
  mode: 'agent' | 'client';
  port: number;
  host: string;
  /** `BELAY_SERVER`: the server that this program belongs to; undefined when the enrolment in the data folder names it. */
  server: string | undefined;
  /** `BELAY_AGENT_CREDENTIAL`: the one-time credential of `belay agent enroll`, needed only at the first start. */
  credential: string | undefined;
  /** `BELAY_AGENT_NAME`: the name of this machine at the server; undefined for its host name. */
  name: string | undefined;
  dataDirectory: string;
  /** `BELAY_SYNC_SECONDS`, in milliseconds: how often the agent requests a newer configuration. */
  syncInterval: number;
  /** `BELAY_KEYRING`: whether the operating system stores the key of the session store when it can. */
  keyring: 'auto' | 'off';
  logLevel: (typeof logLevels)[number];
}

/** The hosts that only programs on this machine can reach. */
const loopback = ['127.0.0.1', '::1', 'localhost'];

const defaultAgentPort = 8791;

const schema = z.object({
  BELAY_MODE: z.enum(['agent', 'client'], { error: 'use agent or client' }),
  PORT: portVariable(defaultAgentPort),
  HOST: z
    .string()
    .default('127.0.0.1')
    .refine((value) => loopback.includes(value), {
      error: 'an agent is for this machine only; use 127.0.0.1, ::1 or localhost',
    }),
  BELAY_SERVER: z
    .string()
    .refine((value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && !/[?#@]/.test(value), {
      error: 'use the address of the server, for example https://belay.example.com',
    })
    .transform((value) => value.replace(/\/+$/, ''))
    .optional(),
  BELAY_AGENT_CREDENTIAL: z
    .string()
    .regex(/^belay-agent\.[\w-]{43}$/, { error: 'use what `belay agent enroll` printed' })
    .optional(),
  BELAY_AGENT_NAME: z.string().max(200, { error: 'use at most 200 characters' }).optional(),
  BELAY_DATA: z.string().optional(),
  BELAY_SYNC_SECONDS: z
    .string()
    .default('30')
    .refine((value) => Number(value) >= 0.1 && Number(value) <= 86_400, {
      error: 'use a number of seconds from 0.1 to 86400',
    })
    .transform((value) => Number(value) * 1000),
  BELAY_KEYRING: z.enum(['auto', 'off'], { error: 'use auto or off' }).default('auto'),
  LOG_LEVEL: z.enum(logLevels, { error: `use one of ${logLevels.join(', ')}` }).default('info'),
});

/**
 * Parses the variables of agent and client mode. Pure; an empty variable counts as not set. Throws `StartError` with one line that names
 * every invalid variable and its fix, but never the value of the credential.
 */
export function parseLocalEnvironment(env: Record<string, string | undefined>): LocalEnvironment {
  const values = parseVariables(schema, env, ['BELAY_AGENT_CREDENTIAL']);
  return {
    mode: values.BELAY_MODE,
    port: values.PORT,
    host: values.HOST,
    server: values.BELAY_SERVER,
    credential: values.BELAY_AGENT_CREDENTIAL,
    name: values.BELAY_AGENT_NAME,
    dataDirectory: values.BELAY_DATA ?? defaultDataDirectory(env, values.BELAY_MODE),
    syncInterval: values.BELAY_SYNC_SECONDS,
    keyring: values.BELAY_KEYRING,
    logLevel: values.LOG_LEVEL,
  };
}

/**
 * Returns the default data folder: below `XDG_STATE_HOME`, or else below the user's home folder, or else below the
 * current folder.
 */
function defaultDataDirectory(env: Record<string, string | undefined>, mode: string): string {
  if (env.XDG_STATE_HOME) return `${env.XDG_STATE_HOME}/belay/${mode}`;
  const home = env.HOME ?? env.USERPROFILE;
  return home ? `${home}/.local/state/belay/${mode}` : `.belay/${mode}`;
}

/**
 * Returns the address of a server without a slash at its end. Throws `StartError` for an address without https, unless the server is on
 * this machine, because credentials, sessions and the key to pin are sent over it. Also rejects `@`, `?` and `#`: text before an `@` can
 * pretend to be the host, and paths cannot be added after a query or a fragment.
 */
export function requireServerAddress(address: string): string {
  if (/[?#@]/.test(address)) {
    throw new StartError(
      'BELAY_SERVER is an address with a name, a query or a fragment: use https://belay.example.com',
    );
  }
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isHere = url !== undefined && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere)) return address.replace(/\/+$/, '');
  throw new StartError(
    `BELAY_SERVER is ${JSON.stringify(address)}: use https, for example https://belay.example.com; plain http is for a server on this machine`,
  );
}
