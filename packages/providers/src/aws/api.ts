import { Identitystore } from '@aws-sdk/client-identitystore';
import { SSOAdmin } from '@aws-sdk/client-sso-admin';
import { refuseWhenAborted, stopped, untilAborted } from '../abort.js';
import { Retryable } from '../errors.js';
import type { ConnectorTools } from '../port.js';
import { createPlaces } from '../turns.js';
import { within } from '../within.js';
import { clientSettings } from './client.js';
import type { AwsConfig } from './config.js';
import { explain, NotFound, Throttled } from './faults.js';

/** AWS permits 20 calls a second for all clients of the instance together, including the AWS console. */
const mostAtOnce = 5;
const timeout = 10_000;
/** The longest pause in milliseconds, even when AWS demands more: a revocation must be tried again by then. */
const longestWait = 60_000;
/** A limit for lists whose pages never end: no list that the connector needs has more. */
const mostPages = 1_000;

type Options = { abortSignal: AbortSignal };

/** Calls the APIs of IAM Identity Center, with the limits and errors of the port. */
export interface Api {
  /** Returns the result of a call. `operation` is its name in IAM policies. Throws `Retryable` or `Terminal`. */
  ask<T>(operation: string, signal: AbortSignal, run: (clients: Clients, options: Options) => Promise<T>): Promise<T>;
  /** Returns the result of a call, or null when the object that the call names does not exist. */
  find<T>(
    operation: string,
    signal: AbortSignal,
    run: (clients: Clients, options: Options) => Promise<T>,
  ): Promise<T | null>;
  close(): void;
}

export interface Clients {
  admin: SSOAdmin;
  store: Identitystore;
}

/** Opens the clients; sends no request. */
export function openApi(config: AwsConfig, { now }: Pick<ConnectorTools, 'now'>): Api {
  const settings = clientSettings(config, { timeout });
  const clients: Clients = { admin: new SSOAdmin(settings), store: new Identitystore(settings) };
  const places = createPlaces(mostAtOnce);
  let closedUntil = 0;

  const ask: Api['ask'] = (operation, signal, run) =>
    places.take(signal, async () => {
      refuseWhenAborted(signal);
      const wait = closedUntil - now();
      if (wait > 0) throw new Throttled('AWS is handling too many requests', { afterMilliseconds: wait });
      const limited = within(signal, timeout);
      try {
        return await untilAborted(run(clients, { abortSignal: limited }), limited);
      } catch (error) {
        if (signal.aborted) throw stopped(signal);
        if (limited.aborted) throw new Retryable('AWS did not respond in time');
        const fault = explain(operation, error);
        if (fault instanceof Throttled)
          closedUntil = now() + Math.min(fault.options.afterMilliseconds ?? 0, longestWait);
        throw fault;
      }
    });

  return {
    ask,
    async find(operation, signal, run) {
      try {
        return await ask(operation, signal, run);
      } catch (error) {
        if (error instanceof NotFound) return null;
        throw error;
      }
    },
    close() {
      clients.admin.destroy();
      clients.store.destroy();
    },
  };
}

/** Yields the items of a list, page by page. Throws `Retryable` when a page has no list, or the pages have no end. */
export async function* readPages<T>(
  read: (token: string | undefined) => Promise<{ items: T[] | undefined; next: string | undefined }>,
): AsyncGenerator<T> {
  let token: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const { items, next } = await read(token);
    yield* present(items);
    if (next === undefined || next === '') return;
    if (next === token) break;
    token = next;
  }
  throw new Retryable('The pages of a list have no end');
}

/** Returns a value that the API documents as always present. Throws `Retryable` without it, for example when a proxy responded. */
export function present<T>(value: T | null | undefined): T {
  if (value === undefined || value === null) {
    throw new Retryable('AWS returned a response that its API does not document');
  }
  return value;
}
