import { mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '@belay/host';
import { CliError } from './cli-error.js';

/** The stored login for one server. */
export interface Credential {
  token: string;
  expires_at: string;
  email: string;
  provider: string;
}

interface CredentialsFile {
  version: 1;
  /** The server of the last login, which commands use by default. */
  default?: string;
  servers: Record<string, Credential>;
}

/** Tokens by server address, in one file that only its owner can read. */
export interface Credentials {
  defaultServer(): Promise<string | undefined>;
  find(server: string): Promise<Credential | undefined>;
  save(server: string, credential: Credential): Promise<void>;
  /** Deletes the login of a server; resolves to whether there was one. */
  remove(server: string): Promise<boolean>;
}

export interface CredentialsOptions {
  file: string;
  /** Whether the file system has owners and modes. */
  posix: boolean;
  /** Returns a random part for the names of temporary files, so that two writers never share one. */
  randomName(): string;
}

function isCredentialsFile(value: unknown): value is CredentialsFile {
  return typeof value === 'object' && value !== null && 'version' in value && value.version === 1 && 'servers' in value;
}

async function load({ file, posix }: CredentialsOptions): Promise<CredentialsFile> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined;
    throw new CliError('failed', `${file} cannot be read; check its owner and mode`, { cause });
  });
  if (text === undefined) return { version: 1, servers: {} };
  const { mode, uid } = await stat(file);
  if (posix && uid !== (process.getuid?.() ?? uid)) {
    throw new CliError('failed', `${file} belongs to another user; move it away and sign in again`);
  }
  // Another user could have read the tokens, or changed the file to send them elsewhere.
  if (posix && (mode & 0o077) !== 0) {
    throw new CliError('failed', `${file} is open to other users; run: chmod 600 ${file}`);
  }
  try {
    const parsed: unknown = JSON.parse(text);
    if (isCredentialsFile(parsed)) return parsed;
  } catch {
    // A file that does not parse and a file of another format get the same error below.
  }
  throw new CliError('failed', `${file} is not a valid credentials file; move it away and sign in again`);
}

async function store(file: string, content: CredentialsFile, token: string): Promise<void> {
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await replaceFile(file, `${JSON.stringify(content, undefined, 2)}\n`, { token });
  } catch (cause) {
    throw new CliError('failed', `${file} cannot be written; check its folder`, { cause });
  }
}

/** Opens the credentials in a file, which may not exist yet. Throws `failed` when it is unreadable, exposed or not valid. */
export function openCredentials(options: CredentialsOptions): Credentials {
  const { file, randomName } = options;
  return {
    defaultServer: async () => (await load(options)).default,
    find: async (server) => {
      const { servers } = await load(options);
      return Object.hasOwn(servers, server) ? servers[server] : undefined;
    },
    save: async (server, credential) => {
      const { servers } = await load(options);
      await store(file, { version: 1, default: server, servers: { ...servers, [server]: credential } }, randomName());
    },
    remove: async (server) => {
      const content = await load(options);
      if (!Object.hasOwn(content.servers, server)) return false;
      const { [server]: _gone, ...servers } = content.servers;
      await store(file, { ...content, servers }, randomName());
      return true;
    },
  };
}
