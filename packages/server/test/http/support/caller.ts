import { type Answer, send } from '@belay/testkit/serve';

export interface Called extends Answer {
  /** The body, when it is JSON. */
  json: Record<string, unknown>;
}

export interface CallOptions {
  token?: string;
  body?: object;
  headers?: Record<string, string>;
}

/** Calls the REST interface of the server at `url` as a program does: with a bearer token and JSON. */
export async function callRest(url: string, method: string, path: string, options: CallOptions = {}): Promise<Called> {
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  const answer = await send(`${url}/api/v1${path}`, {
    method,
    headers: {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
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
