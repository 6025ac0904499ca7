import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { enrollAgent, withActor } from '@belay/core';
import { type Answer, keepLines, type LogLine, send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { type Person, people, type World } from '@belay/testkit/world';
import type { LocalEnvironment } from '../../src/environment.js';
import type { RunningAgent } from '../../src/open-machine.js';
import { startAgent } from '../../src/start.js';

export interface Local extends AsyncDisposable {
  url: string;
  folder: string;
  agent: RunningAgent;
  lines: LogLine[];
  /** Sends a request of a local program: JSON, no browser. */
  call(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Called>;
  /** Signs in completely, with a browser that follows every redirect. */
  signIn(person: Person): Promise<Answer>;
}

export interface Called extends Answer {
  json: Record<string, unknown>;
}

/** Returns a one-time credential, as `belay agent enroll` creates it. */
export async function makeCredential(world: World, name: string): Promise<string> {
  const operator = withActor(world.context, { kind: 'operator', name: 'test' });
  return (await enrollAgent(operator, { name, ttl: 'P1D' })).credential;
}

/**
 * Starts agent or client mode in this process, against a world's server, in a new folder unless `environment` names
 * one.
 */
export async function startLocal(
  world: { url: string },
  environment: Partial<LocalEnvironment> & Pick<LocalEnvironment, 'mode'>,
): Promise<Local> {
  const own = environment.dataDirectory === undefined;
  const folder = environment.dataDirectory ?? (await mkdtemp(join(tmpdir(), 'belay-agent-')));
  const { lines, log } = keepLines();
  const agent = await startAgent({
    log,
    variables: {},
    environment: {
      port: 0,
      host: '127.0.0.1',
      server: world.url,
      credential: undefined,
      name: 'test-machine',
      dataDirectory: folder,
      // Tests call `sync` when they need it.
      syncInterval: 3_600_000,
      keyring: 'off',
      logLevel: 'info',
      ...environment,
    },
  });
  const { url } = agent;
  return {
    url,
    folder,
    agent,
    lines,
    call: (method, path, options) => callLocal(url, method, path, options),
    signIn: (person) => signInAt(world.url, url, person),
    async [Symbol.asyncDispose]() {
      await agent.stop();
      if (own) await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function callLocal(
  url: string,
  method: string,
  path: string,
  options: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Called> {
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  const answer = await send(`${url}${path}`, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const isJson = String(answer.headers['content-type']).startsWith('application/json');
  return { ...answer, json: isJson ? (JSON.parse(answer.body) as Called['json']) : {} };
}

/** Signs in from the agent's /auth through the server and the identity provider back to the agent. Returns the last page. */
export async function signInAt(server: string, agent: string, person: Person): Promise<Answer> {
  const begun = await send(`${agent}/auth?provider=demo`, {
    headers: { accept: 'text/html', 'sec-fetch-site': 'none' },
  });
  return followSignIn(server, String(begun.headers.location), person);
}

/** Follows the sign-in of a browser from this address of the server until it is back on this machine. Returns the last page. */
export async function followSignIn(server: string, address: string, person: Person): Promise<Answer> {
  const visitor = openVisitor(server);
  const request = await visitor.visit(address, { site: 'none' });
  const provider = await visitor.visit(`${server}${request.location}`, { site: 'none' });
  const proved = await visitor.prove(provider.location, people[person].subject);
  const back = await visitor.visit(proved, { site: 'cross-site' });
  return send((await visitor.letProgram(back.location)).href, {
    headers: {
      accept: 'text/html',
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    },
  });
}
