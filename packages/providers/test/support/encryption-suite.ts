import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { Retryable, Terminal } from '../../src/errors.js';
import type { EncryptionService } from '../../src/services/port.js';
import type { FakeServer } from './fake-server.js';
import { createTools, everythingIn, faultOf, type TestTools } from './tools.js';

/** Two keys of one service; `server` is present when the service is remote. */
export interface EncryptionSubject extends AsyncDisposable {
  open(key: 'first' | 'second', tools: TestTools): Promise<EncryptionService>;
  server?: FakeServer;
  /** Texts that no message, log or field of an error may contain. */
  secrets: string[];
}

const signal = () => new AbortController().signal;
const hexAndMore = (bytes: Uint8Array) =>
  (['hex', 'base64', 'base64url'] as const).map((form) => Buffer.from(bytes).toString(form));

/** Declares the guarantees of every encryption service. */
export function encryptionSuite(start: () => Promise<EncryptionSubject>): void {
  it('unwraps what it wrapped, also by another client, and wraps the same key differently each time', async () => {
    await using subject = await start();
    const tools = createTools();
    const one = await subject.open('first', tools);
    const other = await subject.open('first', tools);
    const material = randomBytes(32);
    const wrapped = await one.wrap(material, signal());
    expect(wrapped.key).not.toBe('');
    expect(Buffer.from(wrapped.wrapped).includes(material)).toBe(false);
    expect(Buffer.from(await other.unwrap(wrapped, signal())).equals(material)).toBe(true);
    const again = await one.wrap(material, signal());
    expect(Buffer.from(again.wrapped).equals(wrapped.wrapped)).toBe(false);
    await one.check(signal());
    await Promise.all([one.close(), other.close()]);
  });

  it('permanently rejects what another key wrapped, and what was changed', async () => {
    await using subject = await start();
    const tools = createTools();
    const first = await subject.open('first', tools);
    const second = await subject.open('second', tools);
    const material = randomBytes(32);
    const wrapped = await first.wrap(material, signal());
    const bytes = Buffer.from(wrapped.wrapped);
    const flipped = Buffer.from(bytes);
    flipped[flipped.length - 5] = (flipped[flipped.length - 5] ?? 0) ^ 1;
    for (const [service, what] of [
      [second, wrapped],
      [first, { ...wrapped, wrapped: flipped }],
      [first, { ...wrapped, wrapped: bytes.subarray(0, 20) }],
      [first, { ...wrapped, wrapped: Buffer.alloc(0) }],
    ] as const) {
      const fault = await faultOf(service.unwrap(what, signal()));
      expect(fault).toBeInstanceOf(Terminal);
      for (const secret of [...subject.secrets, ...hexAndMore(material)])
        expect(everythingIn(fault)).not.toContain(secret);
    }
    expect(tools.waited).toEqual([]);
    await Promise.all([first.close(), second.close()]);
  });
}

/** Declares the further guarantees of a remote encryption service, which can fail. */
export function remoteEncryptionSuite(start: () => Promise<EncryptionSubject & { server: FakeServer }>): void {
  it('retries a few times while the service is unavailable, then fails; and works again when it is back', async () => {
    await using subject = await start();
    const tools = createTools();
    const service = await subject.open('first', tools);
    const material = randomBytes(32);
    const wrapped = await service.wrap(material, signal());
    subject.server.mood = 'unavailable';
    subject.server.asked.length = 0;
    for (const question of [() => service.unwrap(wrapped, signal()), () => service.check(signal())]) {
      const fault = await faultOf(question());
      expect(fault).toBeInstanceOf(Retryable);
      for (const secret of [...subject.secrets, ...hexAndMore(material)])
        expect(everythingIn(fault)).not.toContain(secret);
    }
    expect(subject.server.asked.length).toBeGreaterThanOrEqual(6);
    expect(subject.server.asked.length).toBeLessThanOrEqual(8);
    expect(tools.waited).toHaveLength(4);
    subject.server.mood = 'well';
    expect(Buffer.from(await service.unwrap(wrapped, signal())).equals(material)).toBe(true);
    await service.close();
  });

  it('treats a rejection of its credentials as final, and a response that is not valid as no response', async () => {
    await using subject = await start();
    const tools = createTools();
    const service = await subject.open('first', tools);
    const wrapped = await service.wrap(randomBytes(32), signal());
    subject.server.mood = 'forbidden';
    const fault = await faultOf(service.unwrap(wrapped, signal()));
    expect(fault).toBeInstanceOf(Terminal);
    expect(fault.message).toContain('rejected our credentials');
    for (const secret of subject.secrets) expect(everythingIn(fault)).not.toContain(secret);
    expect(tools.waited).toEqual([]);
    subject.server.mood = 'babbling';
    const babble = await faultOf(service.unwrap(wrapped, signal()));
    expect(babble).toBeInstanceOf(Retryable);
    expect(everythingIn(babble)).not.toContain('Welcome to our proxy');
    await service.close();
  });

  it('waits no longer than its time limit, and stops when aborted', async () => {
    await using subject = await start();
    const tools = createTools();
    const service = await subject.open('first', tools);
    const wrapped = await service.wrap(randomBytes(32), signal());
    subject.server.mood = 'silent';
    tools.timeout = 50;
    expect(await faultOf(service.unwrap(wrapped, signal()))).toBeInstanceOf(Retryable);
    expect(tools.waited).toHaveLength(2);
    tools.timeout = 60_000;
    const stop = new AbortController();
    const asking = faultOf(service.unwrap(wrapped, stop.signal));
    const before = subject.server.asked.length;
    await expect.poll(() => subject.server.asked.length, { timeout: 30_000 }).toBeGreaterThan(before);
    stop.abort();
    expect(await asking).toBeInstanceOf(Retryable);
    await service.close();
  });
}
