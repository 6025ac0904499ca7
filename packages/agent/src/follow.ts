import { jitter, pauseAfter } from '@belay/contract/back-off';
import { AccessError } from '@belay/contract/errors';
import type { Logger } from '@belay/program';
import { type KeptConfiguration, writeConfiguration } from './configuration-file.js';
import type { Files } from './files.js';
import { type Identity, writeIdentity } from './identity.js';
import type { AgentUpstream } from './upstream.js';
import { acceptConfiguration, acceptSync, compareVersions } from './verbs/configuration.js';
import type { ConfigurationSource, LocalLedger, SessionStore } from './verbs/ports.js';
import type { PinnedKey } from './verbs/statement.js';

export interface FollowOptions {
  folder: string;
  files: Files;
  identity: Identity & { key: PinnedKey };
  kept: KeptConfiguration | undefined;
  upstream: AgentUpstream;
  sessions: SessionStore;
  ledger: LocalLedger;
  log: Logger;
  environment: { name: string; description: string };
  programVersion: string;
  /** The pause between requests to the server, in milliseconds. */
  interval: number;
  clock(): Date;
  random(): number;
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export interface Following {
  source: ConfigurationSource;
  /** How far this machine's clock is ahead of the server's, in milliseconds. */
  skew(): number;
  /** Requests the version from the server now, and the configuration when it has changed. Never rejects. */
  sync(): Promise<void>;
  /** Requests the version regularly until stopped. */
  start(): void;
  stop(): Promise<void>;
}

/** How long a stop waits for a request in progress, in milliseconds. */
const patience = 1_000;

/** The longest pause while the server is away, in milliseconds, unless the interval is longer. */
const longestPause = 5 * 60_000;

/**
 * Follows the server's configuration by version (GET /sync). A newer configuration, or another one with the same version, or the same one
 * signed by a new key, replaces the stored one as a whole, after it was verified and written to the disk. In every other case, the last
 * configuration stays in force.
 */
export function followServer(options: FollowOptions): Following {
  const { folder, files, upstream, sessions, ledger, log, clock } = options;
  let identity = options.identity;
  let kept = options.kept;
  let confirmedAt: Date | undefined;
  let server = 'not contacted yet';
  let skew = 0;
  let failures = 0;
  const ended = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let current: Promise<void> | undefined;

  async function pin(key: PinnedKey): Promise<void> {
    if (key.kid === identity.key.kid) {
      // The day is precise enough; with the exact time, the file would be written after every request.
      const news = key.since?.slice(0, 10) !== identity.key.since?.slice(0, 10);
      identity = { ...identity, key };
      if (!news) return;
      // A full disk must not stop the agent from following the server.
      await writeIdentity(folder, files, identity).catch((error: unknown) =>
        log.warn({ error }, 'the time at which the key was last seen could not be stored'),
      );
      return;
    }
    const before = identity.key.kid;
    const next = { ...identity, key };
    await writeIdentity(folder, files, next);
    identity = next;
    log.warn({ before, now: key.kid }, 'the server signs with a new key, which its previous key announced');
    ledger.append({ level: 'warning', type: 'key.rotated', message: `The server signs with a new key (${key.kid})` });
  }

  async function replaceConfiguration(): Promise<void> {
    const answer = await upstream.register(identity.credential, options.environment);
    const accepted = await acceptConfiguration(answer, {
      key: identity.key,
      version: kept?.configuration.catalog_version,
    });
    const receivedAt = clock();
    // Write the configuration before the key: after an interruption, the stored configuration is still accepted,
    // because it contains the announcement that the previous key signed.
    await writeConfiguration(folder, files, answer, receivedAt);
    await pin(accepted.key);
    kept = { configuration: accepted.configuration, digest: accepted.digest, receivedAt };
    const version = accepted.configuration.catalog_version;
    log.info({ version }, 'the configuration of the server is active');
    ledger.append({ type: 'configuration.replaced', message: `The configuration ${version} is active` });
    await upstream.postflight(identity.credential, report(options, version));
  }

  async function ask(): Promise<void> {
    const before = clock().getTime();
    const answer = await upstream.sync(identity.credential);
    const after = clock().getTime();
    const said = await acceptSync(answer, identity.key);
    skew = Math.round((before + after) / 2 - said.timestamp.getTime());
    await pin(said.key);
    const difference = kept ? compareVersions(said.version, kept.configuration.catalog_version) : 1;
    if (difference < 0) {
      throw new AccessError(
        'forbidden',
        `The server's configuration was rejected: version ${said.version} is older than the stored version ${kept?.configuration.catalog_version}`,
      );
    }
    // After a restore, the server counts its versions again, so the same version number can mean another configuration.
    const unchanged = difference === 0 && (said.digest === undefined || said.digest === kept?.digest);
    // After a rotation of the secret alone, the stored copy is still signed by the previous key, so a restart would reject it.
    const same = unchanged && kept?.configuration.signature.key.kid === identity.key.kid;
    if (!same) await replaceConfiguration();
    confirmedAt = clock();
  }

  async function once(): Promise<void> {
    try {
      await ask();
      if (!server.startsWith('reachable')) log.info({}, 'the server responds');
      server = 'reachable';
      failures = 0;
      await refreshSessions({ upstream, sessions, ledger });
    } catch (error) {
      failures += 1;
      const told = explain(error);
      if (told !== server) {
        log.warn({ error }, `the configuration could not be requested: ${told}`);
        ledger.append({ level: 'warning', type: 'server.away', message: told });
      }
      server = told;
    }
  }

  // Refreshes must not run at the same time, because they write the same files. Calls during a refresh share the next one.
  async function sync(): Promise<void> {
    await current;
    current ??= once().finally(() => {
      current = undefined;
    });
    return current;
  }

  async function loop(): Promise<void> {
    while (!ended.signal.aborted) {
      await sync();
      const pauses = { first: options.interval, last: Math.max(longestPause, options.interval) };
      await options.delay(jitter(pauseAfter(pauses, failures + 1), options.random()), ended.signal).catch(() => {});
    }
  }

  return {
    source: {
      current: () => kept?.configuration,
      confirmedAt: () => confirmedAt,
      receivedAt: () => kept?.receivedAt,
      server: () => server,
      key: () => identity.key,
    },
    skew: () => skew,
    sync,
    start() {
      running = loop();
    },
    async stop() {
      ended.abort();
      // Waits only briefly for a request in progress: its files are written completely or not at all.
      const waited = new AbortController();
      await Promise.race([running, options.delay(patience, waited.signal).catch(() => {})]);
      waited.abort();
    },
  };
}

/** Returns the report for the call after a registration. */
function report(
  options: Pick<FollowOptions, 'environment' | 'programVersion'>,
  catalogVersion?: string,
): Record<string, unknown> {
  return {
    environment: options.environment,
    version: options.programVersion,
    ...(catalogVersion === undefined ? {} : { catalog_version: catalogVersion }),
  };
}

function explain(error: unknown): string {
  if (!(error instanceof AccessError)) return 'the last request failed; see the log';
  if (error.code === 'unauthenticated')
    return 'the server no longer knows this agent; enrol it again (belay agent enroll)';
  return error.code === 'unavailable' ? error.message : `reachable, but ${lower(error.message)}`;
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** Replaces the sessions that were signed in here with their new versions, and removes those whose login has ended. */
async function refreshSessions(tools: Pick<FollowOptions, 'upstream' | 'sessions' | 'ledger'>): Promise<void> {
  const { upstream, sessions, ledger } = tools;
  for (const kept of sessions.all()) {
    const { provider, token, person } = kept;
    if (token === undefined) continue;
    try {
      const found = (await upstream.sessions(token))[provider];
      if (found === undefined) throw new AccessError('unauthenticated', 'The session has ended');
      if (found.version === kept.version && found.expiry === kept.expiry) continue;
      const issued = await upstream.issue(token, provider);
      // The person's name and groups may have changed as well.
      const { person: told } = await upstream.verify(issued.session);
      // `replace` does nothing when the session was removed or replaced during the request: the newer state wins.
      await sessions.replace(kept, { ...kept, ...issued, person: told });
    } catch (error) {
      if (!(error instanceof AccessError) || !['unauthenticated', 'not_found'].includes(error.code)) throw error;
      // The login of the session has ended at the server, so the session has ended too.
      if (!(await sessions.replace(kept, undefined))) continue;
      ledger.append({
        type: 'session.ended',
        message: `The session with ${provider} has ended at the server`,
        provider,
        user: person.email,
      });
    }
  }
}
