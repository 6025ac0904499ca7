import { parseExactly } from '@belay/contract/exact-json';
import { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';
import { boundedFetch } from '../http/bounded-fetch.js';
import { attempt, timeout } from '../services/attempt.js';
import { explainFaults, explainStatus } from '../services/faults.js';
import type { ServiceTools } from '../services/port.js';

export const service = 'HashiCorp Vault';
const explain = explainFaults(service);
/** The largest response, in bytes: a secret of HashiCorp Vault has at most one megabyte. */
const maximumBytes = 2 * 1024 * 1024;

interface Settings {
  address: string;
  namespace?: string | undefined;
  token?: string | undefined;
  role_id?: string | undefined;
  secret_id?: string | undefined;
  approle_mount: string;
}

export interface HashicorpClient {
  /** Returns the JSON of the response, or undefined for 404. */
  ask(
    request: { method: 'GET' | 'POST'; path: string; body?: Record<string, string> },
    signal: AbortSignal,
  ): Promise<unknown>;
}

const loginAnswer = z.object({ auth: z.object({ client_token: z.string().min(1), lease_duration: z.number() }) });

/**
 * Creates a client of the HTTP API of HashiCorp Vault, with a token or an AppRole. An AppRole's token is renewed by
 * signing in again. There is no official client for Node.js.
 */
export function openHashicorp(settings: Settings, tools: ServiceTools): HashicorpClient {
  const fetch = boundedFetch(maximumBytes);
  let held: { token: string; until: number } | undefined;
  let signingIn: Promise<string> | undefined;

  async function send(
    method: string,
    path: string,
    body: object | undefined,
    token: string | undefined,
    signal: AbortSignal,
  ) {
    const headers: Record<string, string> = { 'x-vault-request': 'true' };
    if (body) headers['content-type'] = 'application/json';
    if (token !== undefined) headers['x-vault-token'] = token;
    if (settings.namespace !== undefined) headers['x-vault-namespace'] = settings.namespace;
    const response = await fetch(`${settings.address}/v1/${path}`, {
      method,
      headers,
      signal,
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Returns the token in use. Calls that need a new one share a sign-in, which the abort of one of them does not end. */
  async function login(): Promise<string> {
    if (settings.token !== undefined) return settings.token;
    if (held && tools.now() < held.until) return held.token;
    signingIn ??= signIn().finally(() => {
      signingIn = undefined;
    });
    return signingIn;
  }

  async function signIn(): Promise<string> {
    const { role_id, secret_id, approle_mount } = settings;
    const limit = AbortSignal.timeout(tools.timeout ?? timeout);
    const answer = await send('POST', `auth/${approle_mount}/login`, { role_id, secret_id }, undefined, limit);
    if (answer.status === 404) throw new Terminal(`approle_mount: ${service} has no AppRole sign-in at this path`);
    // Vault returns 400, not 403, for an AppRole that it rejects.
    if (answer.status === 400) throw explainStatus(service, 403);
    if (answer.status !== 200) throw explainStatus(service, answer.status);
    const { auth } = parse(loginAnswer, answer.text);
    held = { token: auth.client_token, until: tools.now() + auth.lease_duration * 800 };
    return held.token;
  }

  return {
    ask: ({ method, path, body }, signal) =>
      attempt(tools, signal, explain, async (limited) => {
        const before = held;
        const used = await login();
        let answer = await send(method, path, body, used, limited);
        if (answer.status === 403 && before?.token === used) {
          // The token may have been revoked early: try once more with a new token, which another call may have fetched.
          if (held === before) held = undefined;
          answer = await send(method, path, body, await login(), limited);
        }
        if (answer.status === 404) return undefined;
        if (answer.status !== 200) throw explainStatus(service, answer.status);
        return parse(z.unknown(), answer.text);
      }),
  };
}

/** Throws `Retryable` for a response that the API does not document, for example from a proxy. */
function parse<T>(schema: z.ZodType<T>, text: string): T {
  try {
    const result = schema.safeParse(parseExactly(text));
    if (result.success) return result.data;
  } catch {
    // Not JSON: rejected below, without the text.
  }
  throw new Retryable(`${service} returned a response that its API does not document`);
}

/** Returns a response parsed by the schema. Throws `Terminal` when it is missing, `Retryable` when it has another shape. */
export function required<T>(schema: z.ZodType<T>, answer: unknown): T {
  if (answer === undefined) throw new Terminal(`${service} has no secret with this name`);
  const result = schema.safeParse(answer);
  if (!result.success) throw new Retryable(`${service} returned a response that its API does not document`);
  return result.data;
}
