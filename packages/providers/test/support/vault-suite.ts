import { expect, it } from 'vitest';
import { Retryable, Terminal } from '../../src/errors.js';
import type { VaultService } from '../../src/services/port.js';
import type { FakeServer } from './fake-server.js';
import { createTools, everythingIn, faultOf, type TestTools } from './tools.js';

/** The secret that every tested vault contains: at the path `database`, beside other keys. */
export const stored = { path: 'database', key: 'password', value: 'correct horse battery staple' };

export interface VaultSubject extends AsyncDisposable {
  open(tools: TestTools): Promise<VaultService>;
  server?: FakeServer;
  secrets: string[];
}

const signal = () => new AbortController().signal;

/** Declares the guarantees of every vault. */
export function vaultSuite(start: () => Promise<VaultSubject>): void {
  it('reads a secret by path and key, and reports when there is no such path or key', async () => {
    await using subject = await start();
    const tools = createTools();
    const vault = await subject.open(tools);
    await vault.check(signal());
    expect(await vault.read(stored, signal())).toBe(stored.value);
    expect(await vault.read({ path: 'database', key: 'user' }, signal())).toBeUndefined();
    expect(await vault.read({ path: 'elsewhere', key: 'password' }, signal())).toBeUndefined();
    for (const key of ['__proto__', 'constructor', 'toString']) {
      expect(await vault.read({ path: 'database', key }, signal())).toBeUndefined();
    }
    await vault.check(signal());
    expect(tools.waited).toEqual([]);
    await vault.close();
  });
}

/** Declares the further guarantees of a remote vault, which can fail. */
export function remoteVaultSuite(start: () => Promise<VaultSubject & { server: FakeServer }>): void {
  it('retries a few times while the service is unavailable, then fails; a rejection is final', async () => {
    await using subject = await start();
    const tools = createTools();
    const vault = await subject.open(tools);
    expect(await vault.read(stored, signal())).toBe(stored.value);
    for (const [mood, kind] of [
      ['unavailable', Retryable],
      ['forbidden', Terminal],
    ] as const) {
      subject.server.mood = mood;
      subject.server.asked.length = 0;
      for (const ask of [() => vault.read(stored, signal()), () => vault.check(signal())]) {
        const fault = await faultOf(ask());
        expect(fault).toBeInstanceOf(kind);
        for (const secret of [...subject.secrets, stored.value]) expect(everythingIn(fault)).not.toContain(secret);
      }
      expect(subject.server.asked.length).toBeLessThanOrEqual(mood === 'unavailable' ? 8 : 4);
    }
    expect(tools.waited).toHaveLength(4);
    subject.server.mood = 'well';
    expect(await vault.read(stored, signal())).toBe(stored.value);
    await vault.close();
  });

  it('waits no longer than its time limit', async () => {
    await using subject = await start();
    const tools = createTools();
    const vault = await subject.open(tools);
    await vault.read(stored, signal());
    subject.server.mood = 'silent';
    tools.timeout = 50;
    expect(await faultOf(vault.read(stored, signal()))).toBeInstanceOf(Retryable);
    expect(tools.waited).toHaveLength(2);
    await vault.close();
  });
}
