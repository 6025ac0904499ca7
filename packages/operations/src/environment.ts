import { parseVariables, portVariable, StartError } from '@belay/program';
import { z } from 'zod';
import { readSecretFile } from './secret-file.js';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/**
 * Every variable of the environment (docs/architecture.md, section 11), parsed. Paths are not resolved: they are relative
 * to the working directory.
 */
export interface Environment {
  mode: 'server';
  /** `BELAY_CONFIG`; undefined means `belay.yaml` or `config/`, or the demo when neither exists. */
  configuration: string | undefined;
  port: number;
  host: string;
  /** `BELAY_BASE_URL` without a slash at its end; when undefined, the address follows from host and port. */
  baseUrl: string | undefined;
  databaseUrl: string | undefined;
  redisUrl: string | undefined;
  secret: string | undefined;
  /** `BELAY_SECRET_PREVIOUS`: secrets that were in use before. */
  previousSecrets: string[];
  dataDirectory: string;
  worker: 'inline' | 'off' | 'only';
  logLevel: (typeof logLevels)[number];
  /** `BELAY_DRAIN_SECONDS`: how long a stopping server continues to serve requests while /ready returns 503. */
  drainSeconds: number;
  /** `BELAY_TRUST_PROXY`: the proxies that are trusted to report the client's address; no proxy when undefined. */
  trustProxy: number | string | undefined;
}

function urlWith(schemes: readonly string[]): (value: string) => boolean {
  return (value) => URL.canParse(value) && schemes.includes(new URL(value).protocol);
}

const others = ['agent', 'client'];

/** Each message follows the name of the variable and says what to write instead. */
const schema = z.object({
  BELAY_MODE: z
    .string()
    .default('server')
    .refine((mode) => !others.includes(mode), { error: 'this needs the server’s database; use server', abort: true })
    .pipe(z.literal('server', { error: 'use server, agent or client' })),
  BELAY_CONFIG: z.string().optional(),
  PORT: portVariable(8080),
  HOST: z
    .string()
    .default('127.0.0.1')
    .refine((value) => !/[\s/]/.test(value) && !/:\d+$/.test(value.replace(/^[\da-f:]+$/i, '')), {
      error: 'use a host name or an address to listen on, without a scheme or a port, for example 127.0.0.1',
    }),
  BELAY_BASE_URL: z
    .string()
    .refine((value) => urlWith(['http:', 'https:'])(value) && !/[?#]/.test(value), {
      error: 'use the address that people open, for example https://belay.example.com',
    })
    .transform((value) => value.replace(/\/+$/, ''))
    .optional(),
  DATABASE_URL: z
    .string()
    .refine(urlWith(['postgres:', 'postgresql:']), {
      error: 'use postgres://user:password@host:5432/database, or unset it for the embedded database',
    })
    .optional(),
  REDIS_URL: z
    .string()
    .refine((value) => value.split(',').every((node) => urlWith(['redis:', 'rediss:'])(node.trim())), {
      error:
        'use redis://host:6379 or rediss://host:6379 (several with commas for a cluster), or unset it to queue in the database',
    })
    .optional(),
  BELAY_SECRET: z
    .string()
    .min(32, { error: 'use at least 32 characters, for example the output of: openssl rand -base64 32' })
    .optional(),
  BELAY_SECRET_PREVIOUS: z
    .string()
    .default('')
    // A secret may contain a comma, so a value with line breaks is split only at line breaks.
    .transform((value) =>
      value
        .split(value.includes('\n') ? '\n' : ',')
        .map((secret) => secret.trim())
        .filter((secret) => secret !== ''),
    )
    .refine((secrets) => secrets.every((secret) => secret.length >= 32), {
      error:
        'use the secrets that were in BELAY_SECRET before, each of at least 32 characters, with commas or line breaks',
    }),
  BELAY_DATA: z.string().default('.belay'),
  BELAY_WORKER: z.enum(['inline', 'off', 'only'], { error: 'use inline, off or only' }).default('inline'),
  BELAY_TRUST_PROXY: z
    .string()
    .refine((value) => /^\d{1,2}$/.test(value) || /^[\da-fA-F.:/, ]+$|^(loopback|linklocal|uniquelocal)$/.test(value), {
      error: 'use the number of proxies in front of Belay, for example 1, or their addresses with commas',
    })
    .transform((value) => (/^\d{1,2}$/.test(value) ? Number(value) : value))
    .optional(),
  BELAY_DRAIN_SECONDS: z
    .string()
    .default('0')
    .refine((value) => /^\d{1,2}$/.test(value) && Number(value) <= 60, {
      error: 'use a number of seconds from 0 to 60',
    })
    .transform(Number),
  LOG_LEVEL: z.enum(logLevels, { error: `use one of ${logLevels.join(', ')}` }).default('info'),
});

/** The variables that may contain a secret, so that no message repeats their value. */
const secrets = ['BELAY_SECRET', 'BELAY_SECRET_PREVIOUS', 'DATABASE_URL', 'REDIS_URL'];

/** Returns the variables with the secrets that are in files: `BELAY_SECRET_FILE` names the file of `BELAY_SECRET`. */
function withFiles(
  env: Record<string, string | undefined>,
  read: (path: string) => string,
): Record<string, string | undefined> {
  const found = { ...env };
  for (const name of secrets) {
    const path = env[`${name}_FILE`];
    if (!path) continue;
    if (env[name]) throw new StartError(`${name} and ${name}_FILE are both set: unset one of them`);
    try {
      found[name] = read(path);
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code ?? 'unknown';
      throw new StartError(`${name}_FILE cannot be read (${code}): name a file that this account may read`, { cause });
    }
    if (found[name] === '') throw new StartError(`${name}_FILE names an empty file: write the value into it`);
  }
  return found;
}

/** The variables with which libpq completes an address, by the parameter that they stand for. */
const tlsVariables = {
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslnegotiation: 'PGSSLNEGOTIATION',
};

/** Returns the address of the database with what libpq's variables say about TLS, where the address does not say it itself. */
function withTls(address: string, env: Record<string, string | undefined>): string {
  const url = new URL(address);
  const added = Object.entries(tlsVariables).filter(([name, variable]) => env[variable] && !url.searchParams.has(name));
  for (const [name, variable] of added) url.searchParams.set(name, env[variable] ?? '');
  return added.length > 0 ? url.href : address;
}

/**
 * Parses the environment variables (docs/architecture.md, section 11). Reads nothing but the files of secrets. An empty
 * variable counts as not set. Throws `StartError` with one line that names every wrong variable and its cure, and no
 * secret.
 */
export function parseEnvironment(env: Record<string, string | undefined>, read = readSecretFile): Environment {
  const values = parseVariables(schema, withFiles(env, read), secrets);
  if (values.BELAY_WORKER === 'only' && values.BELAY_BASE_URL === undefined)
    throw new StartError(
      'BELAY_BASE_URL is required with BELAY_WORKER=only: messages link to it; set the address that people open, as for the servers',
    );
  return {
    mode: values.BELAY_MODE,
    configuration: values.BELAY_CONFIG,
    port: values.PORT,
    host: values.HOST,
    baseUrl: values.BELAY_BASE_URL,
    databaseUrl: values.DATABASE_URL && withTls(values.DATABASE_URL, env),
    redisUrl: values.REDIS_URL,
    secret: values.BELAY_SECRET,
    previousSecrets: values.BELAY_SECRET_PREVIOUS,
    dataDirectory: values.BELAY_DATA,
    worker: values.BELAY_WORKER,
    logLevel: values.LOG_LEVEL,
    drainSeconds: values.BELAY_DRAIN_SECONDS,
    trustProxy: values.BELAY_TRUST_PROXY,
  };
}
