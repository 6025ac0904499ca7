import { Agent, createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Entry } from './journal.js';

export interface Message {
  method: string;
  /** With its query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface Reply {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** Text as it is, anything else as JSON. */
  body?: unknown;
}

/** One request that an act handles. */
export interface Exchange {
  request: Message;
  now(): number;
  /** Sends the request, or another one in its place, to the target, and returns the response. */
  forward(request?: Message): Promise<Reply>;
  /** Returns the target's last response for the same method and path, or undefined. */
  last(): Reply | undefined;
  /** Sends the request to the target when the clock has reached a moment: at the next request then, or at `settle`. */
  later(at: number): void;
}

/** What the front does with a request: returns the reply, or `lost` to cut the connection. */
export interface Act {
  name: string;
  run(exchange: Exchange): Promise<Reply | 'lost'>;
}

export interface Match {
  method?: string | readonly string[];
  /** Matched against path and query. */
  path?: RegExp;
  /** Any other condition on the request. */
  when?(request: Message): boolean;
  /** How many requests meet the act; when absent, all. */
  times?: number;
  /** How many matching requests the act leaves out at first. */
  after?: number;
}

export interface Front extends AsyncDisposable {
  /** Without a slash at its end. */
  url: string;
  /** Every request, in the order of arrival. */
  journal: readonly Entry[];
  /** Returns the largest number of requests that were in the front at the same time. */
  mostAtOnce(): number;
  /** Applies an act to matching requests from now on; of several acts, the one added last. Returns a function that removes it. */
  on(match: Match, act: Act): () => void;
  /** Removes all acts, so that everything is forwarded. */
  calm(): void;
  /** Sends the target those delayed requests that are due. */
  settle(): Promise<void>;
}

export interface FrontOptions {
  /** The address of the target; http or https. */
  to: string;
  /** The clock of the journal and of delayed requests. */
  now(): number;
  /** The authority that signs the target's certificate, in PEM form. */
  ca?: string;
  /** Whether the target is a server of Node.js in this process, over http: then connections to it are reused. */
  inProcess?: boolean;
}

interface Target {
  url: URL;
  ca?: string;
  /** False for a new connection for each request: a reused one that the target closes would be an unintended fault. */
  agent: Agent | false;
}

interface Rule {
  match: Match;
  act: Act;
  met: number;
}

const forwarding: Act = { name: 'forward', run: (exchange) => exchange.forward() };

/** Starts a proxy on loopback before a target's HTTP API. It forwards everything until an act is added. */
export async function startFront({ to, now, ca, inProcess = false }: FrontOptions): Promise<Front> {
  const target: Target = {
    url: new URL(to),
    ...(ca && { ca }),
    // Unused connections are closed after 2 s, before a server of Node.js closes them (5 s), which could lose a request.
    agent: inProcess && new Agent({ keepAlive: true, timeout: 2_000 }),
  };
  const journal: Entry[] = [];
  const rules: Rule[] = [];
  const last = new Map<string, Reply>();
  let putOff: { at: number; run(): Promise<unknown> }[] = [];
  const load = { now: 0, most: 0 };
  let url = '';

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    load.now += 1;
    load.most = Math.max(load.most, load.now);
    try {
      const message = await readMessage(request);
      await settle();
      const act = choose(message);
      const entry: Entry = {
        number: journal.length,
        at: now(),
        method: message.method,
        path: message.path,
        body: decode(message.body),
        act: act.name,
      };
      journal.push(entry);
      const reply = await act.run(exchangeOf(message, entry));
      entry.answered = { at: now(), status: reply === 'lost' ? 'lost' : reply.status };
      if (reply === 'lost') request.socket.destroy();
      else write(response, reply);
    } finally {
      load.now -= 1;
    }
  }

  function choose(message: Message): Act {
    for (const rule of rules.toReversed()) {
      const { times = Number.POSITIVE_INFINITY, after = 0 } = rule.match;
      if (rule.met >= after + times || !isMatch(rule.match, message)) continue;
      rule.met += 1;
      if (rule.met > after) return rule.act;
    }
    return forwarding;
  }

  function exchangeOf(message: Message, entry: Entry): Exchange {
    const key = `${message.method} ${message.path}`;
    const forward = async (request = message) => {
      const reply = await send(target, request);
      const shown = showAs(reply, target.url.origin, url);
      entry.target = { at: now(), status: reply.status, body: decode(String(shown.body ?? '')) };
      last.set(key, shown);
      return shown;
    };
    return {
      request: message,
      now,
      forward,
      last: () => last.get(key),
      later: (at) => void putOff.push({ at, run: () => forward() }),
    };
  }

  async function settle(): Promise<void> {
    const due = putOff.filter(({ at }) => at <= now()).sort((one, other) => one.at - other.at);
    putOff = putOff.filter((one) => !due.includes(one));
    for (const { run } of due) await run();
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    journal,
    mostAtOnce: () => load.most,
    on(match, act) {
      const rule: Rule = { match, act, met: 0 };
      rules.push(rule);
      return () => {
        const index = rules.indexOf(rule);
        if (index !== -1) rules.splice(index, 1);
      };
    },
    calm: () => void rules.splice(0),
    settle,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (target.agent) target.agent.destroy();
    },
  };
}

function isMatch({ method, path, when }: Match, message: Message): boolean {
  const methods = method === undefined ? undefined : [method].flat();
  return (
    (methods === undefined || methods.includes(message.method)) &&
    (path === undefined || path.test(message.path)) &&
    (when === undefined || when(message))
  );
}

/** Headers that belong to one connection and not to the message (RFC 9110, 7.6.1), and headers that are set again. */
const ofConnection = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'host',
  'content-length',
  'upgrade',
  'te',
]);

function send({ url, ca, agent }: Target, { method, path, headers, body }: Message): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      new URL(path, url),
      { method, agent, headers: { ...keep(headers), 'content-length': Buffer.byteLength(body) }, ...(ca && { ca }) },
      (response) => {
        readText(response).then(
          (text) => resolve({ status: response.statusCode ?? 0, headers: keep(flatten(response.headers)), body: text }),
          reject,
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Replaces the target's address in a response by the front's, for example in the link to a next page. */
function showAs(reply: Reply, from: string, to: string): Reply {
  const headers = Object.entries(reply.headers ?? {}).map(([name, value]) => [name, value.replaceAll(from, to)]);
  return { ...reply, headers: Object.fromEntries(headers), body: String(reply.body ?? '').replaceAll(from, to) };
}

function keep(headers: Readonly<Record<string, string>>): Record<string, string> {
  // Bodies are read and written as text, so none may be compressed.
  return {
    ...Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.has(name))),
    ...('accept-encoding' in headers ? { 'accept-encoding': 'identity' } : {}),
  };
}

async function readMessage(request: IncomingMessage): Promise<Message> {
  const { method = '', url: path = '' } = request;
  return { method, path, headers: flatten(request.headers), body: await readText(request) };
}

async function readText(stream: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part as Uint8Array);
  return Buffer.concat(parts).toString('utf8');
}

function flatten(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}

function write(response: ServerResponse, { status, headers, body }: Reply): void {
  const text = body === undefined || typeof body === 'string' ? (body ?? '') : JSON.stringify(body);
  response.writeHead(status, { ...(text === '' ? {} : { 'content-type': 'application/json' }), ...headers });
  response.end(text);
}

function decode(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
