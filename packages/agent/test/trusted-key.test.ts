import { createKeyring, enrollAgent, readSync, verifyAgent, withActor } from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Cast, openCast } from '../../core/test/support/stories.js';
import { acceptSync } from '../src/verbs/configuration.js';

let cast: Cast;
beforeEach(async () => {
  cast = await openCast();
});
afterEach(() => cast[Symbol.asyncDispose]());

/** Returns the version in force, signed by a server with these secrets. */
async function syncWith(...secrets: string[]) {
  const { credential } = await enrollAgent(cast.house.operator(), { name: 'build-3', ttl: 'P30D' });
  const actor = await verifyAgent(cast.house.ctx, { token: credential });
  if (!actor) throw new Error('not an agent');
  return readSync({ ...withActor(cast.house.ctx, actor), keyring: createKeyring(secrets) });
}

describe('the key that agents trust', () => {
  const [first, second] = ['a'.repeat(40), 'b'.repeat(40)] as const;

  it('does not go back to one that it followed, by what was announced while the two were exchanged', async () => {
    // Several processes get a new secret in two rounds (docs/guides/services.md). In the first, the new key announces the old one.
    const before = await syncWith(first, second);
    const { key: old } = await acceptSync(before, { ...before.signature.key });
    await cast.house.database.advance(1_000);
    const { key: now } = await acceptSync(await syncWith(second, first), old);
    expect(now.kid).not.toBe(old.kid);
    await cast.house.database.advance(1_000);
    // An attacker has the old secret, which is why it was changed, and all announcements of the first round.
    const forged = await syncWith(first);
    const replayed = { ...forged, signature: { ...forged.signature, announced: before.signature.announced } };
    await expect(acceptSync(replayed, now)).rejects.toMatchObject({ code: 'forbidden' });
    // A process before its second round still announces its key, and agents accept it.
    expect((await acceptSync(await syncWith(first, second), now)).key.kid).toBe(old.kid);
  });
});
