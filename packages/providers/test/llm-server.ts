import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the vendor received, and its content. */
export interface Asked {
  path: string;
  headers: IncomingMessage['headers'];
  /** The whole request body. */
  body: string;
  /** The catalog and the person's text, as in our prompt. */
  question: { now: string; roles: { name: string; providers: { id: string }[] }[]; request: string };
}

/** What the server returns: the model's text, or a fault. */
export type Said =
  | { text: string }
  | { status: number; body?: string; headers?: Record<string, string> }
  | { hang: true }
  | { bytes: number };

export interface ModelServer extends AsyncDisposable {
  url: string;
  asked: Asked[];
  /** The status with which the list of models is returned. */
  models: number;
  /** Sets the function that decides the next responses. */
  say(answer: (asked: Asked) => Said): void;
}

/** Starts a server that responds in the wire formats of both kinds of vendors: chat completions, and messages. */
export async function startModelServer(): Promise<ModelServer> {
  let answer: (asked: Asked) => Said = () => ({ text: '{"candidates":[]}' });
  const asked: Asked[] = [];
  const state = { models: 200 };
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '';
      if (path.endsWith('/models')) return send(response, state.models, '{"object":"list","data":[]}');
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const one = { path, headers: request.headers, body, question: questionIn(body) };
      asked.push(one);
      reply(response, one, answer(one));
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    get models() {
      return state.models;
    },
    set models(status: number) {
      state.models = status;
    },
    say(given) {
      answer = given;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function reply(response: ServerResponse, { path, body: request }: Asked, said: Said): void {
  if ('hang' in said) return;
  if ('status' in said) {
    send(response, said.status, said.body ?? '{"error":{"message":"no"}}', said.headers);
    return;
  }
  if ('bytes' in said) {
    response.writeHead(200, { 'content-type': 'application/json' });
    const block = Buffer.alloc(64 * 1024, 0x20);
    for (let sent = 0; sent < said.bytes; sent += block.length) response.write(block);
    response.end('{}');
    return;
  }
  const body = path.endsWith('/messages') ? message(said.text, usesTool(request)) : completion(said.text);
  send(response, 200, JSON.stringify(body));
}

function completion(text: string) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'test',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

/** Returns whether a request uses a tool: older models have no schemas for their output, and call a tool instead. */
function usesTool(request: string): boolean {
  return (JSON.parse(request) as { tools?: unknown[] }).tools !== undefined;
}

function message(text: string, asTool: boolean) {
  const tool = () => ({ type: 'tool_use', id: 'toolu_1', name: 'json', input: JSON.parse(text) as unknown });
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'test',
    content: [asTool ? tool() : { type: 'text', text }],
    stop_reason: asTool ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body);
}

interface Message {
  role: string;
  content: string | { type: string; text?: string }[];
}

function questionIn(body: string): Asked['question'] {
  const { messages = [] } = JSON.parse(body) as { messages?: Message[] };
  const content = messages.find(({ role }) => role === 'user')?.content ?? '{}';
  const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
  return JSON.parse(text) as Asked['question'];
}
