import { stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { Breathe, Logger } from '@belay/core';
import { watch } from 'chokidar';
import { ConfigurationError } from './configuration-error.js';
import { listConfigurationFiles } from './list-files.js';
import { type Configuration, readConfiguration } from './read-configuration.js';

export interface WatchOptions {
  /** Called with each configuration that was read after a change; calls never overlap. */
  apply(configuration: Configuration): Promise<void>;
  /** Called with the messages of a configuration that could not be read; the old one stays in force. */
  refuse(messages: readonly string[]): void;
  log: Logger;
  /** Yields to the event loop while a long configuration is read. */
  breathe?: Breathe;
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** How long a path must stay unchanged before it is read, in milliseconds; 150 by default. */
  quiet?: number;
  /** How often files are compared with their state when last read, in milliseconds; 1000 by default. */
  poll?: number;
}

export interface ConfigurationWatch {
  /** Reads again now (SIGHUP), whether or not anything changed. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

/**
 * How many times a configuration is read before it is rejected: while an editor saves a file, it can be missing or
 * incomplete.
 */
const readAttempts = 4;

/** Returns a text that changes whenever the files change. */
async function fingerprint(path: string): Promise<string> {
  try {
    const states = (await listConfigurationFiles(path)).map(async (name) => {
      const { ino, size, mtimeMs } = await stat(name);
      return `${name} ${ino} ${size} ${mtimeMs}`;
    });
    return (await Promise.all(states)).join('\n');
  } catch {
    return 'absent';
  }
}

/**
 * Watches a configuration file or folder, and calls `apply` with each new state after a moment without changes. A file is
 * watched through its folder, because a watch on the file itself ends with the first rename. Files are also compared at
 * intervals, because watches miss changes behind symbolic links (mounted config maps) and on network folders.
 */
export async function watchConfiguration(path: string, options: WatchOptions): Promise<ConfigurationWatch> {
  const quiet = options.quiet ?? 150;
  const whole = resolve(path);
  const isFolder = (await stat(path)).isDirectory();
  const closing = new AbortController();
  let wanted = 0;
  let seen = await fingerprint(path);
  let running: Promise<void> = Promise.resolve();

  async function read(): Promise<void> {
    seen = await fingerprint(path);
    for (let attempt = 1; ; attempt++) {
      try {
        return await options.apply(await readConfiguration(path, options.breathe));
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        if (attempt === readAttempts) return options.refuse(error.messages);
        await options.delay(quiet, closing.signal);
      }
    }
  }

  function schedule(wait: number): Promise<void> {
    const mine = ++wanted;
    running = running.then(async () => {
      try {
        if (wait > 0) await options.delay(wait, closing.signal);
        // When a later read is already scheduled, it also covers the change that this read is for.
        if (mine === wanted && !closing.signal.aborted) await read();
      } catch (error) {
        if (!closing.signal.aborted) options.log.error({ error }, 'the configuration could not be read again');
      }
    });
    return running;
  }

  const watcher = watch(isFolder ? whole : dirname(whole), {
    ignoreInitial: true,
    depth: isFolder ? 10 : 0,
    ignored: (name) => name !== whole && name !== dirname(whole) && basename(name).startsWith('.'),
  });
  watcher.on('all', (_event, changed) => {
    if (isFolder || resolve(changed) === whole) void schedule(quiet);
  });
  watcher.on('error', (error) =>
    options.log.warn({ error }, 'the configuration is not watched; send SIGHUP to reload it'),
  );
  void (async () => {
    while (!closing.signal.aborted) {
      await options.delay(options.poll ?? 1_000, closing.signal);
      if ((await fingerprint(path)) !== seen) await schedule(quiet);
    }
  })().catch(() => {});
  await new Promise<void>((ready) => watcher.once('ready', () => ready()));
  return {
    reload: () => schedule(0),
    close: async () => {
      closing.abort();
      await watcher.close();
      await running;
    },
  };
}
