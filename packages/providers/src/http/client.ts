import type { LookupFunction } from 'node:net';
import type { Pool } from 'undici';
import type { z } from 'zod';
import { refuseWhenAborted, stopped } from '../abort.js';
import { isLoopback } from '../endpoint.js';
import { Retryable, Terminal } from '../errors.js';
import { within } from '../within.js';
import { type Asked, explainSilence, explainStatus, type HttpAnswer, HttpFault, parseAnswer } from './answer.js';
import { readBounded } from './bounded-fetch.js';
import { createPlaces } from './places.js';
import type { Credentials } from './tokens.js';
import { readRetryAfter } from './wait.js';

export interface HttpOptions {
  /** What the provider is called in messages: `Kubernetes`. */
  service: string;
  /** https, or this machine; a path is put before the path of each call. Calls lead to no other origin. */
  url: string;
  now(): number;
  credentials?: Credentials;
  /** Sent with each call. Not the credentials. */
  headers?: Readonly<Record<string, string>>;
  /** PEM: who signs the provider's certificate, when Node.js does not know them. */
  ca?: string;
  /** PEM: a certificate of ours and its key. */
  clientCertificate?: { certificate: string; key: string };
  /** Resolves the host of each new connection, which goes to the address that it returns; the system's resolver unless set. */
  lookup?: LookupFunction;
  /** Whether the path is a secret: details of faults, which are logged, then have none. */
  secretPath?: boolean;
  /** Calls at once, 8 unless set; the others wait for their turn. */
  mostAtOnce?: number;
  /** How long one call may take with its body, in milliseconds, 10 s unless set. */
  timeoutMilliseconds?: number;
  /** The most that is read of a body, 4 MiB unless set. */
  mostBytes?: number;
  /**
   * Returns how long the vendor demands to be left alone, in milliseconds, by headers of its own; undefined when the answer demands
   * nothing. `Retry-After` is read without it.
   */
  waitOf?(answer: HttpAnswer, now: number): number | undefined;
  /** Returns what an answer comes to where the status alone does not tell; undefined leaves that to the status. */
  explain?(answer: HttpAnswer): Retryable | Terminal | undefined;
}

export interface HttpCall {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Made with `path`, or the whole URL of a next page, at the same origin. */
  path: string;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  json?: unknown;
  form?: Readonly<Record<string, string>>;
  /** The body as it is sent, where its bytes are signed. */
  text?: { type: string; body: string };
  headers?: Readonly<Record<string, string>>;
  /** Statuses that the caller reads itself, besides 2xx. */
  accept?: readonly number[];
  /** Calls of one family share the provider's limit: after a demand to wait none is sent until then. */
  family?: string;
}

export interface HttpClient {
  /** Returns the answer, with a status of 2xx or one that the call accepts. Throws `Retryable` or `Terminal` for every other. */
  send(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer>;
  /** Returns the body of a 2xx, as the schema has it. Throws as `send` does, and `Retryable` for another shape. */
  ask<T>(call: HttpCall & { schema: z.ZodType<T> }, signal: AbortSignal): Promise<T>;
  /** Returns the same, or null for 404. */
  find<T>(call: HttpCall & { schema: z.ZodType<T> }, signal: AbortSignal): Promise<T | null>;
  close(): Promise<void>;
}

/** A provider may not keep a revocation waiting for longer than this without being asked again. */
const longestWait = 60_000;

/**
 * Opens the client of a provider's HTTP API: JSON in and out, no redirects, bounded in time, size and calls at once. It repeats
 * nothing, with one exception: a call that was answered with 401 is sent once more with renewed credentials.
 */
export async function openHttpClient(options: HttpOptions): Promise<HttpClient> {
  const { service, now, credentials } = options;
  const base = readBase(options.url);
  const pool = await openPool(base, options);
  const places = createPlaces(options.mostAtOnce ?? 8);
  const closedUntil = new Map<string, number>();

  async function send(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
    const target = aim(base, call, service);
    const asked: Asked = { service, method: call.method, path: pathOf(target) };
    return places.take(signal, async () => {
      refuseWhileClosed(call, asked);
      const limited = within(signal, options.timeoutMilliseconds ?? 10_000);
      try {
        return judge(call, await sendWithCredentials(call, target, asked, limited), asked);
      } catch (error) {
        if (error instanceof Terminal) throw error;
        if (signal.aborted) throw stopped(signal);
        const cause = new HttpFault('no response in time', asked);
        if (limited.aborted) throw new Retryable(`${service} did not respond in time`, { cause });
        throw explainSilence(error, asked);
      }
    });
  }

  function pathOf(target: string): string {
    return options.secretPath ? '' : (target.split('?')[0] ?? '');
  }

  /** A provider that wants to be left alone is not asked: more calls make the wait longer. */
  function refuseWhileClosed({ family = '' }: HttpCall, { method, path }: Asked): void {
    const wait = (closedUntil.get(family) ?? 0) - now();
    if (wait <= 0) return;
    const cause = new HttpFault('not sent: the provider demanded to wait', { method, path });
    throw new Retryable(`${service} is handling too many requests`, { afterMilliseconds: wait, cause });
  }

  async function sendWithCredentials(call: HttpCall, target: string, asked: Asked, signal: AbortSignal) {
    if (!credentials) return exchange(call, target, asked, undefined, signal);
    const value = await credentials.authorize(signal);
    const answer = await exchange(call, target, asked, value, signal);
    if (answer.status !== 401) return answer;
    credentials.forget(value);
    const renewed = await credentials.authorize(signal);
    return renewed === value ? answer : exchange(call, target, asked, renewed, signal);
  }

  async function exchange(
    call: HttpCall,
    target: string,
    { method, path }: Asked,
    authorization: string | undefined,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    refuseWhenAborted(signal);
    const { body, type } = encode(call);
    const response = await pool.request({
      method: call.method,
      path: target,
      signal,
      body,
      headers: {
        accept: 'application/json',
        // GitHub answers only to those who say what they are.
        'user-agent': 'belay',
        ...type,
        ...options.headers,
        ...call.headers,
        ...(authorization === undefined ? {} : { authorization }),
      },
    });
    const read = await readBounded(response.body, options.mostBytes ?? 4 * 1024 * 1024);
    if (read === undefined) {
      const cause = new HttpFault('the response is too large', { method, path, status: response.statusCode });
      throw new Terminal(`${service} returned a response that is too large`, { cause });
    }
    return {
      status: response.statusCode,
      headers: flatten(response.headers),
      body: decode(Buffer.from(read).toString('utf8')),
    };
  }

  function judge(call: HttpCall, answer: HttpAnswer, asked: Asked): HttpAnswer {
    const { status } = answer;
    const wait = (status >= 400 ? readRetryAfter(answer, now()) : undefined) ?? options.waitOf?.(answer, now());
    if (wait !== undefined) closedUntil.set(call.family ?? '', now() + Math.min(wait, longestWait));
    const explained = options.explain?.(answer);
    if (explained) throw explained;
    if (status >= 200 && status < 300) return answer;
    if (call.accept?.includes(status)) return answer;
    throw explainStatus(answer, asked, wait);
  }

  return {
    send,
    async ask(call, signal) {
      const answer = await send(call, signal);
      return parseAnswer(call.schema, answer.body, {
        service,
        method: call.method,
        path: pathOf(call.path),
      });
    },
    async find(call, signal) {
      const answer = await send({ ...call, accept: [...(call.accept ?? []), 404] }, signal);
      if (answer.status === 404) return null;
      return parseAnswer(call.schema, answer.body, {
        service,
        method: call.method,
        path: pathOf(call.path),
      });
    },
    close: () => pool.destroy(),
  };
}

/**
 * Makes a path of which every value is one segment or a part of it: a name with a slash, a question mark or a percent sign leads
 * nowhere else. Throws `Terminal` for a segment that a server would take for a step up or for nothing.
 */
export function path(texts: TemplateStringsArray, ...values: (string | number)[]): string {
  const whole = texts.reduce((made, text, index) => made + encodeSegment(String(values[index - 1])) + text);
  const segments = whole.split('/').slice(1);
  if (segments.some((segment) => ['', '.', '..'].includes(segment))) throw notAName();
  return whole;
}

function encodeSegment(value: string): string {
  // Half a character, which URLs cannot have.
  if (/\p{Surrogate}/u.test(value)) throw notAName();
  return encodeURIComponent(value);
}

function notAName(): Terminal {
  return new Terminal('The name cannot be part of an address');
}

async function openPool(base: URL, options: HttpOptions): Promise<Pool> {
  const { Pool } = await import('undici');
  const { ca, clientCertificate, lookup, mostAtOnce = 8 } = options;
  return new Pool(base.origin, {
    connections: mostAtOnce,
    pipelining: 1,
    connect: {
      ...(ca === undefined ? {} : { ca }),
      ...(lookup && { lookup }),
      ...(clientCertificate && { cert: clientCertificate.certificate, key: clientCertificate.key }),
    },
  });
}

function readBase(text: string): URL {
  const base = URL.canParse(text) ? new URL(text) : undefined;
  const plain = base && !base.username && !base.password && !base.search && !base.hash;
  if (plain && (base.protocol === 'https:' || (base.protocol === 'http:' && isLoopback(base)))) return base;
  throw new Terminal('The address must be an https URL without credentials, query and fragment');
}

/** Returns path and query of a call. Throws `Terminal` for a page at another origin, where our credentials do not belong. */
function aim(base: URL, call: HttpCall, service: string): string {
  const given = call.path.startsWith('/') ? `${base.origin}${base.pathname.replace(/\/$/, '')}${call.path}` : call.path;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url?.origin !== base.origin) throw new Terminal(`${service} refers to another address, which is not followed`);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return `${url.pathname}${url.search}`;
}

function encode({ json, form, text }: HttpCall): { body: string | null; type: Record<string, string> } {
  if (text) return { body: text.body, type: { 'content-type': text.type } };
  if (form) {
    return {
      body: new URLSearchParams(form).toString(),
      type: { 'content-type': 'application/x-www-form-urlencoded' },
    };
  }
  if (json === undefined) return { body: null, type: {} };
  return { body: JSON.stringify(json), type: { 'content-type': 'application/json' } };
}

/** A body that is no JSON is as none: what it would have to be is the schema's to say. */
function decode(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
