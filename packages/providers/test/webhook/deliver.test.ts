import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { Disabled, type Message, Retryable, Terminal, webhookConnector } from '../../src/index.js';
import type { WebhookConfig } from '../../src/webhook/config.js';
import { openWebhook, type Resolve } from '../../src/webhook/open.js';
import { everythingIn, faultOf } from '../support/tools.js';

const secretOf = (letter: string) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`;
const [older, newer, foreign] = [secretOf('a'), secretOf('b'), secretOf('c')];
const page = 'https://belay.example.com/requests/1?x=%22';
const api = 'https://belay.example.com/api/v1/execution/1';
const message: Message = {
  to: 'grace@example.com',
  kind: 'request.waiting',
  title: 'A request waits for your decision',
  text: 'Ada requests reader: look at orders',
  facts: [{ name: 'Role', value: 'reader' }],
  actions: [
    { kind: 'link', label: 'View request', url: page, api },
    { kind: 'decision', label: 'Approve', verdict: 'approve', token: 'a-sealed-token' },
  ],
  idempotencyKey: 'execution/approve',
};
const never = new AbortController().signal;

interface Taken {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string;
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

describe('a webhook', () => {
  const open: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
  });

  async function receive(answer: Answer = (response) => response.writeHead(204).end()) {
    const taken: Taken[] = [];
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => {
        const { url = '', method = '', headers } = request;
        taken.push({ url, method, headers: headers as Taken['headers'], body: Buffer.concat(parts).toString() });
        answer(response, request);
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    open.push(async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    });
    return { taken, port: (server.address() as AddressInfo).port };
  }

  async function connect(port: number, config: object = {}, resolve?: Resolve, now = Date.now) {
    const url = `http://localhost:${port}/hook/a-secret-path?sig=a-secret-query`;
    const usual = { url, secrets: [older], allow_private: true };
    const parsed = webhookConnector.config.parse({ ...usual, ...config }) as WebhookConfig;
    const client = await openWebhook(parsed, { now, log: () => {} }, resolve);
    open.push(() => client.close());
    return {
      check: () => client.check(never),
      deliver: (changes: Partial<Message> = {}, signal = never) =>
        client.notifications?.deliver({ ...message, ...changes }, signal) ?? Promise.reject(new Error('no channel')),
    };
  }

  it('posts a CloudEvent that a receiver of Standard Webhooks verifies, with the link and no token', async () => {
    const { taken, port } = await receive();
    const receipt = await (await connect(port)).deliver();
    const [{ headers, body, url, method }] = taken as [Taken];
    expect([method, url]).toEqual(['POST', '/hook/a-secret-path?sig=a-secret-query']);
    expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    const event = new Webhook(older).verify(body, headers);
    expect(event).toEqual({
      specversion: '1.0',
      id: headers['webhook-id'],
      source: 'urn:belay',
      type: 'belay.request.waiting',
      datacontenttype: 'application/json',
      data: {
        to: message.to,
        title: message.title,
        text: message.text,
        facts: message.facts,
        links: [{ label: 'View request', url: page, api }],
      },
    });
    expect(receipt).toEqual({ webhook_id: headers['webhook-id'] });
    expect(() => new Webhook(foreign).verify(body, headers)).toThrow();
    expect(() => new Webhook(older).verify(`${body} `, headers)).toThrow();
  });

  it('is verified with the older and with the newer secret while both are configured', async () => {
    const { taken, port } = await receive();
    await (await connect(port, { secrets: [older, newer] })).deliver();
    const [{ headers, body }] = taken as [Taken];
    for (const secret of [older, newer]) expect(new Webhook(secret).verify(body, headers)).toBeTruthy();
    expect(() => new Webhook(foreign).verify(body, headers)).toThrow();
  });

  it('has the same id and the same body for the same key, and is signed anew with each attempt', async () => {
    const { taken, port } = await receive();
    let time = Date.now();
    const { deliver } = await connect(port, {}, undefined, () => time);
    await deliver();
    time += 60_000;
    await deliver();
    await deliver({ idempotencyKey: 'another\r\nX-Key: 1' });
    const [first, again, other] = taken as [Taken, Taken, Taken];
    expect([again.headers['webhook-id'], again.body]).toEqual([first.headers['webhook-id'], first.body]);
    expect(again.headers['webhook-timestamp']).not.toBe(first.headers['webhook-timestamp']);
    expect(other.headers['webhook-id']).toMatch(/^msg_[0-9a-f]{40}$/);
    expect(other.headers['webhook-id']).not.toBe(first.headers['webhook-id']);
  });

  it('posts cards to Teams in which words of people are words: no Markdown, no imitated fact', async () => {
    const { taken, port } = await receive((response) => response.writeHead(202).end());
    const { deliver } = await connect(port, { format: 'teams', secrets: undefined });
    const reason = '[Approve](https://evil.example)\r\n**Role:** admin <at>all</at>';
    await deliver({ text: reason, facts: [{ name: 'Reason', value: reason }], title: `${'Ω'.repeat(300)}\r\nX: 1` });
    const [{ url, body, headers }] = taken as [Taken];
    expect(url).toBe('/hook/a-secret-path?sig=a-secret-query');
    expect(headers['content-type']).toBe('application/json');
    const { type, attachments } = JSON.parse(body);
    expect([type, attachments[0].contentType]).toEqual(['message', 'application/vnd.microsoft.card.adaptive']);
    const { content } = attachments[0];
    expect(content.actions).toEqual([{ type: 'Action.OpenUrl', title: 'View request', url: page }]);
    expect(new Set(content.body.map((one: { type: string }) => one.type))).toEqual(new Set(['RichTextBlock']));
    expect(content.body[1].inlines).toEqual([{ type: 'TextRun', text: reason }]);
    expect(content.body[2].inlines[1].text).not.toMatch(/[\r\n]/);
    expect(body).not.toContain('a-sealed-token');
    await deliver({ text: 'x'.repeat(100_000), facts: [{ name: 'x', value: 'y'.repeat(100_000) }] });
    expect(Buffer.byteLength(taken[1]?.body ?? '')).toBeLessThan(28_000);
  });

  it.each([
    ['400', (response: ServerResponse) => response.writeHead(400).end('no')],
    ['401', (response: ServerResponse) => response.writeHead(401).end()],
    ['404', (response: ServerResponse) => response.writeHead(404).end()],
    ['500', (response: ServerResponse) => response.writeHead(500).end()],
    ['429', (response: ServerResponse) => response.writeHead(429, { 'retry-after': '7' }).end()],
    ['a broken connection', (response: ServerResponse) => response.destroy()],
    ['more than is read', (response: ServerResponse) => response.writeHead(200).end('x'.repeat(100_000))],
  ])('is sent again after %s, with no address and no secret in its error', async (_, answer) => {
    const { port } = await receive(answer);
    const error = await faultOf((await connect(port)).deliver());
    expect(error).toBeInstanceOf(Retryable);
    expect(everythingIn(error)).not.toMatch(/a-secret|whsec|grace@/);
    expect(error.message).not.toMatch(/localhost|127\.0\.0\.1/);
  });

  it('follows no redirect, and sends it again later', async () => {
    const elsewhere = await receive();
    const { taken, port } = await receive((response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${elsewhere.port}/` }).end(),
    );
    expect(await faultOf((await connect(port)).deliver())).toBeInstanceOf(Retryable);
    expect([taken.length, elsewhere.taken.length]).toEqual([1, 0]);
  });

  it('is final after 410: the address wants no more', async () => {
    const { port } = await receive((response) => response.writeHead(410).end());
    const { deliver, check } = await connect(port);
    expect(await faultOf(deliver())).toBeInstanceOf(Disabled);
    expect(await faultOf(check())).toBeInstanceOf(Disabled);
  });

  it.each<[string, Answer]>([
    ['never answers', () => {}],
    ['begins a 200 and goes on for ever', (response) => void response.writeHead(200).write('x')],
  ])('waits no longer than it is allowed to for a receiver that %s', async (_, answer) => {
    const { port } = await receive(answer);
    const error = await faultOf((await connect(port)).deliver({}, AbortSignal.timeout(200)));
    expect(error).toBeInstanceOf(Retryable);
  });

  it('sends nothing to a link that is not a web address', async () => {
    const { taken, port } = await receive();
    const { deliver } = await connect(port);
    for (const url of ['javascript:alert(1)', '/requests/1', ''])
      expect(await faultOf(deliver({ actions: [{ kind: 'link', label: 'x', url }] }))).toBeInstanceOf(Terminal);
    expect(taken).toEqual([]);
  });

  it('is checked with a request that changes nothing, with any answer of the receiver', async () => {
    const { taken, port } = await receive((response) => response.writeHead(405).end());
    await (await connect(port)).check();
    expect(taken.map(({ method }) => method)).toEqual(['HEAD']);
  });

  const inner = [
    '127.0.0.1',
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '192.168.1.1',
    '::1',
  ];
  const innerToo = [
    '::',
    '::ffff:127.0.0.1',
    '::ffff:169.254.169.254',
    'fd00::1',
    'fd00:ec2::254',
    'fe80::1',
    '64:ff9b::7f00:1',
  ];
  it.each([...inner, ...innerToo])('is not sent to a host that resolves to %s', async (address) => {
    const { taken, port } = await receive();
    const both = [async () => [address], async () => ['93.184.216.34', address]];
    for (const resolve of both) {
      const { deliver, check } = await connect(port, { allow_private: false }, resolve);
      for (const call of [deliver, check]) {
        const error = await faultOf(call());
        expect(error).toBeInstanceOf(Retryable);
        expect(error.message).toContain('not public');
      }
    }
    expect(taken).toEqual([]);
  });

  it.each(['169.254.169.254', '100.100.100.200', 'fd00:ec2::254', '::ffff:127.0.0.1', '0.0.0.0'])(
    'is not sent to %s where private addresses are allowed either',
    async (address) => {
      const { deliver } = await connect(1, {}, async () => [address]);
      expect((await faultOf(deliver())).message).toContain('not public');
    },
  );

  it.each(['127.0.0.1', '[::1]', '127.1', '0x7f.1'])('is not sent to %s in the address itself', async (host) => {
    const { taken, port } = await receive();
    const { deliver } = await connect(port, { url: `http://${host}:${port}/`, allow_private: false });
    expect((await faultOf(deliver())).message).toContain('not public');
    expect(taken).toEqual([]);
  });

  it('connects to the address that was examined: an answer that changes afterwards is examined again', async () => {
    const { taken, port } = await receive((response) => response.writeHead(204, { connection: 'close' }).end());
    const answers = [['127.0.0.1'], ['169.254.169.254']];
    const asked: string[] = [];
    const { deliver } = await connect(port, {}, async (name) => {
      asked.push(name);
      return answers[asked.length - 1] ?? [];
    });
    await deliver();
    expect((await faultOf(deliver())).message).toContain('not public');
    expect([taken.length, asked]).toEqual([1, ['localhost', 'localhost']]);
  });
});

describe('the configuration of webhook', () => {
  const base = { url: 'https://hooks.example.com/belay?x=1', secrets: [older] };
  const parse = (config: unknown) => webhookConnector.config.safeParse(config);

  it.each([
    [base],
    [{ ...base, secrets: [older, newer], source: 'https://belay.example.com' }],
    [{ url: base.url, format: 'teams' }],
    [{ ...base, url: 'http://127.0.0.1:9000/', allow_private: true }],
  ])('accepts %j', (config) => expect(parse(config).success).toBe(true));

  it.each([
    [{ secrets: [older] }, 'url'],
    [{ ...base, url: 'http://hooks.example.com' }, 'url'],
    [{ ...base, url: 'https://user:password@hooks.example.com' }, 'url'],
    [{ ...base, url: 'ftp://hooks.example.com' }, 'url'],
    [{ url: base.url }, 'secrets'],
    [{ ...base, secrets: [] }, 'secrets'],
    [{ ...base, secrets: [older, newer, foreign] }, 'secrets'],
    [{ ...base, secrets: ['a password'] }, 'secrets.0'],
    [{ ...base, secrets: ['whsec_c2hvcnQ='] }, 'secrets.0'],
    [{ ...base, format: 'teams' }, 'secrets'],
    [{ ...base, format: 'discord' }, 'format'],
    [{ ...base, source: 'a b' }, 'source'],
    [{ ...base, allow_private: 'yes' }, 'allow_private'],
  ])('rejects %j at %s', (config, field) => {
    expect(parse(config).error?.issues.map(({ path }) => path.join('.'))).toContain(field);
  });

  it('rejects a setting that it does not know, and repeats no secret', () => {
    expect(parse({ ...base, insecure: true }).error?.issues[0]?.code).toBe('unrecognized_keys');
    const wrong = parse({ ...base, secrets: ['whsec_not-base64'] });
    expect(JSON.stringify(wrong.error?.issues)).not.toContain('not-base64');
  });
});
