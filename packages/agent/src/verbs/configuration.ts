import { digestOf } from '@belay/contract/canonical';
import { type ConfigurationSignature, registration, sync } from '@belay/contract/configuration';
import { AccessError } from '@belay/contract/errors';
import { z } from 'zod';
import { followKey, type PinnedKey, readStatement } from './statement.js';

const versionSchema = z.string().regex(/^\d+\.\d+\.\d+$/);

/** The fields that this program needs. A newer server may send more fields, which are kept and ignored. */
const schema = registration.extend({ success: z.literal(true), catalog_version: versionSchema });

/** One version of the server's configuration, verified as a whole. */
export type LocalConfiguration = z.infer<typeof schema>;

export interface AcceptedConfiguration {
  configuration: LocalConfiguration;
  /** The digest of everything except the signature. */
  digest: string;
  /** The key to trust from now on. */
  key: PinnedKey;
}

/** Compares versions `a.b.c` by their numbers; negative when the first is older. */
export function compareVersions(first: string, second: string): number {
  const [a, b] = [first, second].map((version) => version.split('.').map(Number));
  for (const index of [0, 1, 2]) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Accepts the response to a registration when it is complete, signed by the trusted key (or by a key that it announced) and not older than
 * the stored one. Throws `invalid` when a field that this program needs is missing, and `forbidden` when the response is unsigned, modified
 * or older; the caller then keeps what it has.
 */
export async function acceptConfiguration(
  answer: unknown,
  held: { key: PinnedKey | undefined; version: string | undefined },
): Promise<AcceptedConfiguration> {
  const parsed = schema.safeParse(answer);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue?.path.map(String).join('.') || 'the answer';
    if (where.startsWith('signature')) throw refused('it is not signed');
    throw new AccessError(
      'invalid',
      `The server's configuration has a format that this program cannot read (${where}); install the same version on both sides`,
    );
  }
  const configuration = parsed.data;
  const key = await trust(held.key, configuration.signature);
  const said = await readStatement(configuration.signature.statement, key);
  const { signature: _signature, ...rest } = answer as Record<string, unknown>;
  const digest = digestOf(rest);
  const good =
    said?.kind === 'configuration' && said.version === configuration.catalog_version && said.digest === digestOf(rest);
  if (!good) throw refused('its signature is not valid');
  if (held.version !== undefined && compareVersions(configuration.catalog_version, held.version) < 0) {
    throw refused(`version ${configuration.catalog_version} is older than the stored version ${held.version}`);
  }
  return { configuration, digest, key };
}

const syncSchema = sync.pick({ timestamp: true, signature: true }).extend({ catalog_version: versionSchema });

export interface AcceptedSync {
  version: string;
  /** The digest of that version's configuration; undefined when the server does not send it. */
  digest: string | undefined;
  timestamp: Date;
  key: PinnedKey;
}

/**
 * Returns the version that the server says is in force, and the time of that statement. Throws `forbidden` when the
 * response is unsigned, modified, or not signed by a trusted key.
 */
export async function acceptSync(answer: unknown, pinned: PinnedKey): Promise<AcceptedSync> {
  const parsed = syncSchema.safeParse(answer);
  if (!parsed.success) throw refused('the version is not signed');
  const { catalog_version: version, timestamp, signature: given } = parsed.data;
  const key = await trust(pinned, given);
  const said = await readStatement(given.statement, key);
  if (said?.kind !== 'sync' || said.version !== version || said.timestamp !== timestamp) {
    throw refused('the signature of the version is not valid');
  }
  const digest = typeof said.digest === 'string' ? said.digest : undefined;
  return { version, digest, timestamp: new Date(timestamp), key: seen(key, timestamp) };
}

async function trust(pinned: PinnedKey | undefined, given: ConfigurationSignature): Promise<PinnedKey> {
  // Before the enrolment, no key is pinned: the first key is trusted, because it comes over the TLS connection that got the credential.
  if (pinned === undefined) return given.key;
  const key = await followKey(pinned, given);
  if (key === undefined) throw refused('it is signed by a key that the key from the enrolment has not announced');
  return key;
}

/** Returns the key with the time of its latest signature; the time never goes back. */
function seen(key: PinnedKey, at: string): PinnedKey {
  return at > (key.since ?? '') ? { ...key, since: at } : key;
}

function refused(why: string): AccessError {
  return new AccessError('forbidden', `The server's configuration was rejected: ${why}`);
}
