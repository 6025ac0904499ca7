import type { LookupFunction } from 'node:net';
import type { Pool } from 'undici';
import type { z } from 'zod';
import { refuseWhenAborted, stopped } from '../abort.js';
import { isLoopback } from '../endpoint.js';
import { Retryable, Terminal } from '../errors.js';
import { createPlaces } from '../turns.js';
import { within } from '../within.js';
import { type Asked, explainSilence, explainStatus, type HttpAnswer, HttpFault, parseAnswer } from './answer.js';
import { readBounded } from './bounded-fetch.js';
import { type Budget, createBudget, type StatedLimit } from './budget.js';
import type { Credentials } from './tokens.js';
import { isUrgent } from './urgency.js';
import { readRetryAfter } from './wait.js';

export interface HttpOptions {
  /** The name of the provider in messages, for example `Kubernetes`. */
  service: string;
  /** An https URL, or http for this machine. Its path precedes the path of each call. Calls go to no other origin. */
  url: string;
  now(): number;
  credentials?: Credentials;
  /** Sent with each call. Not the credentials. */
  headers?: Readonly<Record<string, string>>;
  /** PEM: the authority that signs the provider's certificate, when Node.js does not trust it by default. */
  ca?: string;
  /** PEM: the certificate that this client presents, and its key. */
  clientCertificate?: { certificate: string; key: string };
  /** Resolves the host of each new connection; the system's resolver unless set. */
  lookup?: LookupFunction;
  /** Whether the path is a secret: the details of faults, which are logged, then contain no path. */
  secretPath?: boolean;
  /** Calls at once, 8 unless set; the others wait for their turn. */
  mostAtOnce?: number;
  /** How long one call may take with its body, in milliseconds, 10 s unless set. */
  timeoutMilliseconds?: number;
  /** The largest body of a response, in bytes, 4 MiB unless set. */
  mostBytes?: number;
  /**
   * Returns the pause that the vendor demands in its own headers, in milliseconds, or undefined. `Retry-After` of an error response
   * takes precedence.
   */
  waitOf?(answer: HttpAnswer, now: number): number | undefined;
  /** Returns what the provider says of the reason why it rejected a call: for the log and for operators, never for requesters. */
  saidOf?(answer: HttpAnswer): string | undefined;
  /** Returns what the vendor states of its limit in a response, or undefined. */
  limitOf?(answer: HttpAnswer, now: number): StatedLimit | undefined;
  /** What the provider still accepts, shared with other clients of the provider; a budget of its own unless set. */
  budget?: Budget | undefined;
  /** The family of calls without one. */
  family?: string;
  /** Returns the error of a response whose status is not sufficient; with undefined, the status decides. */
  explain?(answer: HttpAnswer): Retryable | Terminal | undefined;
}

export interface HttpCall {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** A path from the function `path`, or the whole URL of a next page at the same origin. */
  path: string;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  json?: unknown;
  form?: Readonly<Record<string, string>>;
  /** A body that is sent unchanged, for calls whose bytes are signed. */
  text?: { type: string; body: string };
  headers?: Readonly<Record<string, string>>;
  /** Statuses that the caller reads itself, besides 2xx. */
  accept?: readonly number[];
  /**
   * Calls of one family share a limit of the provider: during a pause that the provider demands, every call of the
   * family throws `Retryable` (`Budget`).
   */
  family?: string;
}

export interface HttpClient {
  /**
   * Returns a response with a status of 2xx or one that the call accepts. Throws `Retryable` or `Terminal` for every
   * other response, for one that `explain` rejects, and when there is no response.
   */
  send(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer>;
  /** Returns the body of a response, parsed by the schema. Throws as `send` does, and `Retryable` for another shape. */
  ask<T>(call: HttpCall & { schema: z.ZodType<T> }, signal: AbortSignal): Promise<T>;
  /** Returns the same as `ask`, or null for 404. */
  find<T>(call: HttpCall & { schema: z.ZodType<T> }, signal: AbortSignal): Promise<T | null>;
  close(): Promise<void>;
}

/**
 * Opens the client of a provider's HTTP API: JSON in and out, no redirects, bounded in time, size and calls at once. It repeats a
 * call only after a 401: once, with renewed credentials.
 */
export async function openHttpClient(options: HttpOptions): Promise<HttpClient> {
  const { service, now, credentials } = options;
  const base = readBase(options.url);
  const pool = await openPool(base, options);
  const places = createPlaces(options.mostAtOnce ?? 8);
  const budget = options.budget ?? createBudget({ now });

  async function send(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
    const target = aim(base, call, service);
    const asked: Asked = { service, method: call.method, path: pathOf(target) };
    const ask = async () => {
      const end = await budget.begin(familyOf(call), service);
      const limited = within(signal, options.timeoutMilliseconds ?? 10_000);
      try {
        return judge(call, await sendWithCredentials(call, target, asked, limited), asked);
      } catch (error) {
        if (error instanceof Terminal) throw error;
        if (signal.aborted) throw stopped(signal);
        const cause = new HttpFault('no response in time', asked);
        if (limited.aborted) throw new Retryable(`${service} did not respond in time`, { cause });
        throw explainSilence(error, asked);
      } finally {
        end();
      }
    };
    return places.take(signal, ask, isUrgent());
  }

  function familyOf(call: HttpCall): string {
    return call.family ?? options.family ?? '';
  }

  function pathOf(target: string): string {
    return options.secretPath ? '' : (target.split('?')[0] ?? '');
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
        // GitHub rejects requests without a user agent.
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
    budget.told(familyOf(call), { wait, limit: options.limitOf?.(answer, now()) });
    const explained = options.explain?.(answer);
    if (explained) throw explained;
    if (status >= 200 && status < 300) return answer;
    if (call.accept?.includes(status)) return answer;
    throw explainStatus(answer, asked, { wait, said: options.saidOf?.(answer) });
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
 * Returns a path in which every value is one segment or a part of one, so that a slash, a question mark or a percent
 * sign in a name does not change where the path leads. Throws `Terminal` for a segment that is empty, `.` or `..`, and
 * for a value that a URL cannot contain.
 */
export function path(texts: TemplateStringsArray, ...values: (string | number)[]): string {
  const whole = texts.reduce((made, text, index) => made + encodeSegment(String(values[index - 1])) + text);
  const segments = whole.split('/').slice(1);
  if (segments.some((segment) => ['', '.', '..'].includes(segment))) throw notAName();
  return whole;
}

function encodeSegment(value: string): string {
  // Half of a surrogate pair, which a URL cannot contain.
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

/** Returns path and query of a call. Throws `Terminal` for a page at another origin, which must not receive the credentials. */
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

/** Returns undefined for an empty body and for one that is not JSON: the schema of the call decides whether that is valid. */
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
