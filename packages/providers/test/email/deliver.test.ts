import { afterEach, describe, expect, it } from 'vitest';
import { emailConnector, type Message, Retryable, Terminal } from '../../src/index.js';
import { everythingIn, faultOf } from '../support/tools.js';
import { account, certified, type Fault, type MailServer, startMailServer } from './mail-server.js';

const page = 'https://belay.example.com/api/v1/approvals?id=1&x=%22';
const message: Message = {
  to: 'grace@example.com',
  title: 'A request waits for your decision',
  text: 'Ada requests reader: look at orders',
  facts: [
    { name: 'Role', value: 'reader' },
    { name: 'Reason', value: 'look at orders' },
  ],
  actions: [
    { kind: 'link', label: 'View request', url: page },
    { kind: 'decision', label: 'Approve', verdict: 'approve', token: 'a-sealed-token' },
  ],
  idempotencyKey: 'execution/approve',
};
const never = new AbortController().signal;

describe('e-mail', () => {
  const open: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
  });

  async function start(options: Parameters<typeof startMailServer>[0] = {}) {
    const server = await startMailServer(options);
    open.push(server);
    return server;
  }
  async function connect(server: MailServer, config: object = {}) {
    const parsed = emailConnector.config.parse({
      host: 'localhost',
      port: server.port,
      ca: certified.cert,
      from: 'belay@example.com',
      ...account,
      ...config,
    });
    const client = await emailConnector.create(parsed, { now: () => Date.UTC(2026, 0, 2, 3, 4, 5), log: () => {} });
    open.push({ [Symbol.asyncDispose]: () => client.close() });
    return {
      check: (signal = never) => client.check(signal),
      deliver: (changes: Partial<Message> = {}, signal = never) =>
        client.notifications?.deliver({ ...message, ...changes }, signal) ?? Promise.reject(new Error('no channel')),
      client,
    };
  }
  const both = async (options: Parameters<typeof startMailServer>[0] = {}, config: object = {}) => {
    const server = await start(options);
    return { server, ...(await connect(server, config)) };
  };

  it('delivers one mail to one recipient over TLS, with the facts, the link and no button', async () => {
    const { server, deliver } = await both();
    const receipt = await deliver();
    expect(server.received).toHaveLength(1);
    const [{ mail, raw, ...envelope }] = server.received as [(typeof server.received)[0]];
    expect(envelope).toEqual({ from: 'belay@example.com', to: ['grace@example.com'], secure: true, user: 'belay' });
    expect(mail.subject).toBe(message.title);
    expect(mail.from?.text).toBe('"Belay" <belay@example.com>');
    expect(mail.date).toEqual(new Date(Date.UTC(2026, 0, 2, 3, 4, 5)));
    expect(mail.headers.get('auto-submitted')).toBe('auto-generated');
    expect(mail.messageId).toBe(receipt.message_id);
    expect(mail.text).toContain('> Ada requests reader: look at orders');
    expect(mail.text).toContain('Role: reader\nReason: look at orders');
    expect(mail.text).toContain(`View request:\n${page}`);
    expect(mail.html).toContain(`href="${page.replace('&', '&#38;')}"`);
    expect(raw).not.toContain('a-sealed-token');
    expect(mail.html).not.toMatch(/<(script|img|form|link|style)|https?:\/\/(?!belay\.example\.com)/);
  });

  it('has the same Message-ID for the same key, and another for another key', async () => {
    const { server, deliver } = await both();
    await deliver();
    await deliver({ title: 'The same, worded anew' });
    await deliver({ idempotencyKey: 'execution/another' });
    const [first, again, other] = server.received.map(({ mail }) => mail.messageId);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    expect(first).toMatch(/^<[0-9a-f]{40}@example\.com>$/);
  });

  it('has the same Message-ID when it is delivered again after a lost answer', async () => {
    const { server, deliver } = await both();
    server.faults.push({ at: 'accepted' });
    expect(await faultOf(deliver())).toBeInstanceOf(Retryable);
    await deliver();
    expect(server.received.map(({ mail }) => mail.messageId)).toEqual(
      Array(2).fill(server.received[0]?.mail.messageId),
    );
  });

  it.each([
    'grace@example.com\r\nBcc: mallory@evil.example',
    'grace@example.com\nBcc: mallory@evil.example',
    'grace@example.com, mallory@evil.example',
    'grace@example.com>\r\nRCPT TO:<mallory@evil.example',
    'Grace <grace@example.com>',
    'friends: grace@example.com;',
    '"grace mallory"@example.com',
    'grace@example.com@evil.example',
    'grace',
    '',
    `${'g'.repeat(260)}@example.com`,
  ])('sends nothing to a recipient that is not one address: %j', async (to) => {
    const { server, deliver } = await both();
    expect(await faultOf(deliver({ to }))).toBeInstanceOf(Terminal);
    expect(server.received).toEqual([]);
  });

  it.each([
    'A title\r\nBcc: mallory@evil.example',
    'A title\nX-Header: 1',
    'A\u2028title',
    'A\u0000title',
    'A\u0085title',
  ])('sends nothing with a title that would begin another header: %j', async (title) => {
    const { server, deliver } = await both();
    expect(await faultOf(deliver({ title }))).toBeInstanceOf(Terminal);
    expect(server.received).toEqual([]);
  });

  it('keeps a key with line breaks inside its Message-ID', async () => {
    const { server, deliver } = await both();
    await deliver({ idempotencyKey: 'key>\r\nBcc: mallory@evil.example' });
    expect(server.received[0]?.mail.bcc).toBeUndefined();
    expect(server.received[0]?.to).toEqual(['grace@example.com']);
  });

  it('shows words of people as words: no markup, no imitated fact or link', async () => {
    const { server, deliver } = await both();
    const reason = 'x\nRole: viewer\r\nView request:\u2028https://evil.example/<script>alert(1)</script>';
    await deliver({ text: reason, facts: [{ name: 'Reason', value: reason }], title: '<b>"Ä" & 🙂' });
    const { text = '', html, subject } = server.received[0]?.mail ?? {};
    expect(subject).toBe('<b>"Ä" & 🙂');
    expect(text.split('\n').filter((line) => /^(Role|View request:$|https:\/\/evil)/.test(line))).toEqual([
      'View request:',
    ]);
    expect(html).not.toContain('<script>');
    expect(html).not.toContain('href="https://evil');
  });

  it('sends a title, a name and a line of any length whole enough to be read', async () => {
    const { server, deliver } = await both();
    const long = 'Ω'.repeat(300);
    await deliver({ title: long, text: long.repeat(20), facts: [{ name: 'Role', value: long }] });
    const { mail, raw } = server.received[0] ?? {};
    expect(mail?.subject).toBe(`${'Ω'.repeat(249)}…`);
    expect(mail?.text).toContain(long.repeat(20));
    expect(Math.max(...(raw ?? '').split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
  });

  it('has no link that is not a web address', async () => {
    const { server, deliver } = await both();
    for (const url of ['javascript:alert(1)', 'data:text/html,x', '/approvals', ''])
      expect(await faultOf(deliver({ actions: [{ kind: 'link', label: 'x', url }] }))).toBeInstanceOf(Terminal);
    expect(server.received).toEqual([]);
  });

  it.each<[string, Fault, typeof Retryable | typeof Terminal]>([
    ['the greeting with 554', { at: 'connect', status: 554 }, Retryable],
    ['the greeting with 421', { at: 'connect', status: 421 }, Retryable],
    ['the connection', { at: 'connect' }, Retryable],
    ['the credentials with 454', { at: 'auth', status: 454 }, Retryable],
    ['the credentials with 535', { at: 'auth', status: 535 }, Retryable],
    ['the login, by silence', { at: 'auth' }, Retryable],
    ['the sender with 451', { at: 'from', status: 451 }, Retryable],
    ['the sender with 553', { at: 'from', status: 553 }, Terminal],
    ['the recipient with 450', { at: 'recipient', status: 450 }, Retryable],
    ['the recipient with 550', { at: 'recipient', status: 550 }, Terminal],
    ['the recipient, by silence', { at: 'recipient' }, Retryable],
    ['the mail with 452', { at: 'data', status: 452 }, Retryable],
    ['the mail with 554', { at: 'data', status: 554 }, Terminal],
    ['the mail, by silence', { at: 'data' }, Retryable],
  ])('says rightly whether to try again when the server rejects %s', async (_, fault, kind) => {
    const { server, deliver } = await both();
    server.faults.push(fault);
    const error = await faultOf(deliver());
    expect(error).toBeInstanceOf(kind);
    expect(everythingIn(error)).not.toMatch(/nobody may read|mail\.internal|localhost|grace@/);
    expect(server.received).toEqual([]);
    await deliver({ to: 'alan@example.com' });
    expect(server.received.map(({ to }) => to)).toEqual([['alan@example.com']]);
  });

  it('sends nothing without encryption, credentials neither', async () => {
    const seen: string[] = [];
    const { server, deliver, check } = await both({
      hideSTARTTLS: true,
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: ({ username = '' }, _session, done) => {
        seen.push(username);
        done(null, { user: username });
      },
    });
    for (const call of [deliver, check]) {
      const error = await faultOf(call());
      expect(error).toBeInstanceOf(Retryable);
      expect(error.message).toContain('secure connection');
    }
    expect([server.received, seen]).toEqual([[], []]);
  });

  it('sends nothing to a server whose certificate is signed by an unknown authority, or that is for another name', async () => {
    const server = await start();
    for (const config of [{ ca: undefined }, { host: '127.0.0.1' }]) {
      const { deliver } = await connect(server, config);
      const error = await faultOf(deliver());
      expect(error).toBeInstanceOf(Retryable);
      expect(error.message).toContain('secure connection');
    }
    expect(server.received).toEqual([]);
  });

  it('speaks TLS from the first byte where the port wants that', async () => {
    const { server, deliver, check } = await both({ secure: true }, { security: 'tls' });
    await check();
    await deliver();
    expect(server.received).toMatchObject([{ secure: true, user: 'belay' }]);
  });

  it('delivers without encryption and login to a relay on this machine, when configured so', async () => {
    const plain = { security: 'none', host: '127.0.0.1', username: undefined, password: undefined };
    const { server, deliver } = await both({ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'] }, plain);
    await deliver();
    expect(server.received).toMatchObject([{ secure: false, user: undefined }]);
  });

  it('sends nothing without login where it has one, even when the server wants none', async () => {
    const { server, deliver } = await both({ authOptional: true, disabledCommands: ['AUTH'] });
    expect(await faultOf(deliver())).toBeInstanceOf(Retryable);
    expect(server.received).toEqual([]);
  });

  it('checks address, encryption and credentials, and says which it is', async () => {
    const server = await start();
    await (await connect(server)).check();
    const wrong = await faultOf((await connect(server, { password: 'an expired password' })).check());
    expect(wrong).toBeInstanceOf(Terminal);
    expect(wrong.message).toBe("The mail server does not accept the connector's credentials");
    expect(everythingIn(wrong)).not.toContain('an expired password');
    const port = server.port;
    await open.splice(open.indexOf(server), 1)[0]?.[Symbol.asyncDispose]();
    expect(await faultOf((await connect({ ...server, port })).check())).toBeInstanceOf(Retryable);
  });

  it('stops when it is told to', async () => {
    const { server, deliver, check } = await both({ onMailFrom: () => {}, onAuth: () => {} });
    for (const call of [() => deliver({}, AbortSignal.timeout(200)), () => check(AbortSignal.timeout(200))])
      expect(await faultOf(call())).toBeInstanceOf(Retryable);
    const stopped = AbortSignal.abort();
    expect(await faultOf(deliver({}, stopped))).toBeInstanceOf(Retryable);
    expect(server.received).toEqual([]);
  });

  it('has at most four connections at once, and delivers all', async () => {
    let most = 0;
    const { server, deliver } = await both({
      onMailFrom(_address, _session, done) {
        most = Math.max(most, server.open());
        setImmediate(done);
      },
    });
    const keys = Array.from({ length: 40 }, (_, index) => `key ${index}`);
    await Promise.all(
      keys.map((idempotencyKey) =>
        deliver({ idempotencyKey, to: "o+d'd=x@example.com" }, new AbortController().signal),
      ),
    );
    expect(new Set(server.received.map(({ mail }) => mail.messageId)).size).toBe(40);
    expect(most).toBeLessThanOrEqual(5);
  });
});

describe('the configuration of email', () => {
  const base = { host: 'smtp.example.com', from: 'belay@example.com' };
  const parse = (config: unknown) => emailConnector.config.safeParse(config);
  it.each([
    [base],
    [{ ...base, ...account, port: 2525, security: 'tls' }],
    [{ ...base, host: '::1', security: 'none' }],
    [{ ...base, host: 'localhost', security: 'none' }],
    [{ ...base, host: '2001:db8::1' }],
  ])('accepts %j', (config) => expect(parse(config).success).toBe(true));

  it.each([
    [{ from: base.from }, 'host'],
    [{ ...base, host: 'smtp.example.com/x' }, 'host'],
    [{ ...base, host: 'smtp.example.com\r\nX' }, 'host'],
    [{ ...base, port: 0 }, 'port'],
    [{ ...base, security: 'none' }, 'security'],
    [{ ...base, host: 'localhost.example.com', security: 'none' }, 'security'],
    [{ ...base, security: 'opportunistic' }, 'security'],
    [{ ...base, username: 'belay' }, 'password'],
    [{ ...base, password: 'x' }, 'password'],
    [{ ...base, username: 'a\r\nb', password: 'x' }, 'username'],
    [{ host: base.host }, 'from'],
    [{ ...base, from: 'Belay <belay@example.com>' }, 'from'],
    [{ ...base, from: 'a@example.com, b@example.com' }, 'from'],
    [{ ...base, from_name: 'Belay\r\nBcc: x@example.com' }, 'from_name'],
    [{ ...base, ca: '/etc/ca.pem' }, 'ca'],
  ])('rejects %j at %s', (config, field) => {
    expect(parse(config).error?.issues.map(({ path }) => path.join('.'))).toContain(field);
  });

  it('rejects a setting that it does not know', () => {
    expect(parse({ ...base, insecure: true }).error?.issues[0]?.code).toBe('unrecognized_keys');
  });
});
