import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createProvisioningToken } from '@belay/core';
import { beginRequest } from '@belay/rest';
import { createHouse, type House, type HouseOptions, newId } from '@belay/testkit/house';
import { keepLines, type LogLine, send } from '@belay/testkit/serve';
import { createScim } from '../../src/index.js';

export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Record<string, never>;
}

export interface Directory extends AsyncDisposable {
  house: House;
  url: string;
  token: string;
  lines: LogLine[];
  /** Sends a request as the directory does; the body is JSON unless it is a text. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** Provisions a person, and returns the id. */
  add(person: Record<string, unknown>): Promise<string>;
}

export const patchOf = (...Operations: unknown[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
});

/** Opens a core on a real database with SCIM over HTTP, and a directory that may use it for the provider `login`. */
export async function openDirectory(options: HouseOptions & { scim?: object } = {}): Promise<Directory> {
  const { lines, log } = keepLines();
  const { scim: settings = {}, catalog, ...others } = options;
  const document = catalog as { providers: object };
  const login = { provider: 'login', groups: 'all', trusted_email_domains: ['example.com'], scim: settings };
  const house = await createHouse({
    ...others,
    log,
    catalog: { ...document, providers: { login, ...document.providers } },
  });
  const failures: unknown[] = [];
  const scim = createScim({
    context: house.ctx,
    origin: 'http://127.0.0.1:8080',
    failed: (_request, error) => failures.push(error),
  });
  const server = createServer((request, response) => {
    beginRequest(request, newId);
    void scim.answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/scim/v2`;
  const { token } = await createProvisioningToken(house.operator(), { provider: 'login', ttl: 'P30D' });
  const call: Directory['call'] = async (method, path, body, headers = {}) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await send(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(text === undefined
          ? {}
          : { 'content-type': 'application/scim+json', 'content-length': String(Buffer.byteLength(text)) }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    if (failures.length > 0) throw failures[0];
    return { status: answer.status, headers: answer.headers, body: answer.body === '' ? {} : JSON.parse(answer.body) };
  };
  return {
    house,
    url,
    token,
    lines,
    call,
    async add(person) {
      const { status, body } = await call('POST', '/Users', person);
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
      return String(body.id);
    },
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
      await house[Symbol.asyncDispose]();
    },
  };
}
