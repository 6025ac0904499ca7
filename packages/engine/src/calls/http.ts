import { InexactNumber, parseExactly } from '@belay/contract/exact-json';
import type { Json } from '@belay/workflow';
import { z } from 'zod';
import { communicationFault, timeoutFault } from '../faults.js';
import type { CallFunction, ClaimedCall, EngineContext, Performed } from '../ports.js';
import { done } from '../steps/park.js';

/** The evaluated arguments of `call: http` (DSL reference, HTTP Call). */
const httpWith = z.object({
  method: z.string(),
  uri: z.string(),
  headers: z.record(z.string(), z.json()).default({}),
  query: z.record(z.string(), z.json()).default({}),
  body: z.json().optional(),
  output: z.enum(['raw', 'content', 'response']).default('content'),
  redirect: z.boolean().default(false),
  authentication: z
    .union([
      z.object({ basic: z.object({ username: z.string(), password: z.string() }) }),
      z.object({ bearer: z.object({ token: z.string() }) }),
    ])
    .nullish(),
});
type HttpCall = z.infer<typeof httpWith>;

/** Performs `call: http` with the outbound HTTP client of the process. */
const http: CallFunction = {
  asks(call) {
    const parsed = httpWith.safeParse(call.with);
    return parsed.success && URL.canParse(parsed.data.uri) ? [`host ${new URL(parsed.data.uri).host}`] : [];
  },
  async perform(ctx, call, signal) {
    const parsed = httpWith.safeParse(call.with);
    if (!parsed.success) return failed(400, 'The HTTP call is not valid', z.prettifyError(parsed.error));
    try {
      return await send(ctx, parsed.data, call, signal);
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError') {
        return { kind: 'outcome', outcome: { ok: false, fault: timeoutFault('The HTTP call took too long') } };
      }
      ctx.log.warn({ execution: call.executionId, step: call.key, error }, 'an HTTP call failed');
      return failed(502, 'The HTTP call failed', error instanceof Error ? error.message : 'no response');
    }
  },
};

async function send(ctx: EngineContext, call: HttpCall, claimed: ClaimedCall, signal: AbortSignal): Promise<Performed> {
  const url = new URL(call.uri);
  for (const [name, value] of Object.entries(call.query)) url.searchParams.append(name, textOf(value));
  const headers = new Headers(
    Object.entries(call.headers).map(([name, value]): [string, string] => [name, textOf(value)]),
  );
  // The receiver can recognise a repeat: the same step always sends the same key.
  if (!headers.has('idempotency-key')) headers.set('idempotency-key', `${claimed.executionId}${claimed.key}`);
  authenticate(headers, call);
  let body: string | null = null;
  if (call.body !== undefined && call.body !== null) {
    body = typeof call.body === 'string' ? call.body : JSON.stringify(call.body);
    if (!headers.has('content-type'))
      headers.set('content-type', typeof call.body === 'string' ? 'text/plain' : 'application/json');
  }
  const method = call.method.toUpperCase();
  const response = await ctx.fetch(new Request(url, { method, headers, body, signal, redirect: 'manual' }));
  const bytes = Buffer.from(await response.arrayBuffer());
  const limit = call.redirect ? 400 : 300;
  if (response.status < 200 || response.status >= limit) {
    return failed(
      response.status,
      response.statusText || 'The HTTP call is not allowed',
      `${method} ${url.host} returned status ${response.status}`,
    );
  }
  if (call.output === 'raw') return done(bytes.toString('base64'));
  const content = contentOf(response, bytes);
  if (content instanceof InexactNumber) {
    const detail = `The response of ${url.host} ${content.message}; with "output: raw" it is not read`;
    return failed(502, 'The response has a number that cannot be represented', detail);
  }
  if (call.output === 'content') return done(content);
  return done({
    request: { method: call.method, uri: url.href, headers: call.headers },
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    content,
  });
}

function authenticate(headers: Headers, call: HttpCall): void {
  const { authentication } = call;
  if (!authentication) return;
  if ('bearer' in authentication) headers.set('authorization', `Bearer ${authentication.bearer.token}`);
  else {
    const { username, password } = authentication.basic;
    headers.set('authorization', `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`);
  }
}

/** Returns the content of a response, or why its numbers cannot be kept: nothing goes on with another number. */
function contentOf(response: Response, bytes: Buffer): Json | InexactNumber {
  if (bytes.length === 0) return null;
  const type = response.headers.get('content-type') ?? '';
  const text = bytes.toString('utf8');
  if (/[/+]json\b/.test(type)) {
    try {
      return parseExactly(text) as Json;
    } catch (error) {
      return error instanceof InexactNumber ? error : text;
    }
  }
  return type.startsWith('text/') ? text : bytes.toString('base64');
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function failed(status: number, title: string, detail: string): Performed {
  return { kind: 'outcome', outcome: { ok: false, fault: communicationFault(status, title, detail) } };
}

/** Returns every function that a workflow can call: `http`, and those that the composer registers. */
export function registerFunctions(more: Readonly<Record<string, CallFunction>>): ReadonlyMap<string, CallFunction> {
  return new Map([['http', http], ...Object.entries(more)]);
}
