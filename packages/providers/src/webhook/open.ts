import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isInner, isOwn } from '../addresses.js';
import { Disabled, Retryable, Terminal } from '../errors.js';
import { openHttpClient } from '../http/client.js';
import type { ConnectorTools, ProviderClient } from '../port.js';
import { composePost } from './compose.js';
import type { WebhookConfig } from './config.js';

/** Returns every address of a name; the system's resolver in production. */
export type Resolve = (name: string) => Promise<string[]>;

/** How long the receiver's whole response may take, in milliseconds: Standard Webhooks advises 15 to 30 s; other messages wait. */
const patience = 15_000;
const refused = 'The host of the webhook has an address that is not public; set allow_private if that is intended';

/** Opens the client of one address. `resolve` is called for each connection, which then uses an address that was checked. */
export async function openWebhook(
  config: WebhookConfig,
  { now, budget }: ConnectorTools,
  resolve: Resolve = resolveWithSystem,
): Promise<ProviderClient> {
  const { origin, pathname, search, hostname } = new URL(config.url);
  const bare = hostname.replace(/^\[|\]$/g, '');
  const examine = (addresses: readonly string[]) => examineAddresses(config, addresses);
  const client = await openHttpClient({
    service: 'The receiver of the webhook',
    url: origin,
    now,
    budget,
    secretPath: true,
    timeoutMilliseconds: patience,
    mostBytes: 64 * 1024,
    mostAtOnce: 4,
    lookup: examiningLookup(resolve, examine),
    explain: ({ status }) =>
      status === 410 ? new Disabled('The receiver accepts no more webhooks at this address (410)') : undefined,
  });
  /** Checks the host of the URL if it is an IP address, for which `resolve` is not called. */
  const examineOwn = () => {
    if (isIP(bare) !== 0) examine([bare]);
  };
  return {
    notifications: {
      async deliver(message, signal) {
        examineOwn();
        const { id, text, headers } = composePost(config, message, new Date(now()));
        try {
          await client.send({ method: 'POST', path: `${pathname}${search}`, text, headers }, signal);
        } catch (error) {
          throw keepTrying(error);
        }
        return { webhook_id: id };
      },
    },
    /** Checks that the host can be reached. HEAD changes nothing (RFC 9110, 9.2.1), so every status but 410 is accepted. */
    async check(signal) {
      examineOwn();
      const accept = Array.from({ length: 300 }, (_, index) => 300 + index).filter((status) => status !== 410);
      await client.send({ method: 'HEAD', path: `${pathname}${search}`, accept }, signal);
    },
    close: () => client.close(),
  };
}

/** Returns every error but 410 as `Retryable`: an operator can correct it, and the message must still be delivered then. */
function keepTrying(error: unknown): unknown {
  if (!(error instanceof Terminal) || error instanceof Disabled) return error;
  return new Retryable(error.message, { cause: error.cause });
}

/** Throws `Retryable` if any address is not permitted, because the connection could use it. */
function examineAddresses({ allow_private }: WebhookConfig, addresses: readonly string[]): void {
  if (addresses.some((address) => isInner(address) && !(allow_private && isOwn(address)))) throw new Retryable(refused);
}

/** Returns a lookup that gives the connection exactly the addresses that were checked: a second lookup could return others. */
function examiningLookup(resolve: Resolve, examine: (addresses: readonly string[]) => void): LookupFunction {
  return (name, { all }, done) => {
    resolve(name)
      .then((addresses) => {
        examine(addresses);
        const found: LookupAddress[] = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (!first) throw new Retryable('The host of the webhook has no address');
        return { found, first };
      })
      .then(
        ({ found, first }) => (all ? done(null, found) : done(null, first.address, first.family)),
        (error) => done(error, []),
      );
  };
}

function resolveWithSystem(name: string): Promise<string[]> {
  return new Promise((settle, fail) =>
    lookup(name, { all: true }, (error, found) => (error ? fail(error) : settle(found.map(({ address }) => address)))),
  );
}
