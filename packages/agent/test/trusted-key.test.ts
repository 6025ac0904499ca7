import { createKeyring, enrollAgent, readSync, verifyAgent, withActor } from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Cast, openCast } from '../../core/test/support/stories.js';
import { acceptSync } from '../src/verbs/configuration.js';

let cast: Cast;
beforeEach(async () => {
  cast = await openCast();
});
afterEach(() => cast[Symbol.asyncDispose]());

/** The version in force, signed by a server with these secrets. */
async function syncWith(...secrets: string[]) {
  const { credential } = await enrollAgent(cast.house.operator(), { name: 'build-3', ttl: 'P30D' });
  const actor = await verifyAgent(cast.house.ctx, { token: credential });
  if (!actor) throw new Error('not an agent');
  return readSync({ ...withActor(cast.house.ctx, actor), keyring: createKeyring(secrets) });
}

describe('the key that agents trust', () => {
  const [first, second] = ['a'.repeat(40), 'b'.repeat(40)] as const;

  it('does not go back to one that it followed, by what was announced while the two were exchanged', async () => {
    // Several processes are given a new secret in two rounds (docs/guides/services.md): in the first it announces the
    // old one.
    const before = await syncWith(first, second);
    const { key: old } = await acceptSync(before, { ...before.signature.key });
    await cast.house.database.advance(1_000);
    const { key: now } = await acceptSync(await syncWith(second, first), old);
    expect(now.kid).not.toBe(old.kid);
    await cast.house.database.advance(1_000);
    // An attacker with the old secret, for which it was exchanged, and with all that agents and people received in the
    // first round.
    const forged = await syncWith(first);
    const replayed = { ...forged, signature: { ...forged.signature, announced: before.signature.announced } };
    await expect(acceptSync(replayed, now)).rejects.toMatchObject({ code: 'forbidden' });
    // A process that has not had its second round yet still announces, and is believed.
    expect((await acceptSync(await syncWith(first, second), now)).key.kid).toBe(old.kid);
  });
});
