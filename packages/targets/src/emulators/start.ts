import { findFreePort } from '@belay/host';
import { createEmulator, type EmulatorOptions } from 'emulate';
import type { Act } from '../front/front.js';
import { startFront } from '../front/front.js';

/** An emulator, with what it lacks in front of it. */
export interface EmulatorTarget extends AsyncDisposable {
  /** Without a slash at its end. */
  url: string;
}

/**
 * Starts one of the emulators of `emulate` on a free port, and before it a proxy in which `complete` answers what the emulator lacks or
 * gets wrong, and forwards the rest. A test puts a front of its own before this one.
 */
export async function startEmulator({
  service,
  seed,
  complete,
  now,
}: Pick<EmulatorOptions, 'service' | 'seed'> & { complete?: Act; now(): number }): Promise<EmulatorTarget> {
  const port = await findFreePort('127.0.0.1');
  const front = await startFront({ to: `http://127.0.0.1:${port}`, now, inProcess: true });
  // It calls itself by the front's address: what it signs, such as the issuer of a token, the front could not rewrite.
  const emulator = await createEmulator({ service, port, baseUrl: front.url, ...(seed ? { seed } : {}) });
  if (complete) front.on({}, complete);
  return {
    url: front.url,
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      await emulator.close();
    },
  };
}
