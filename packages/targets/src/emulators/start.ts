import { findFreePort } from '@belay/host';
import { createEmulator, type EmulatorOptions } from 'emulate';
import type { Act } from '../front/front.js';
import { startFront } from '../front/front.js';

/** An emulator behind a proxy that adds what the emulator lacks. */
export interface EmulatorTarget extends AsyncDisposable {
  /** Without a slash at its end. */
  url: string;
}

/**
 * Starts one of the emulators of `emulate` on a free port, behind a proxy. The act `complete` responds where the emulator lacks
 * something or gets it wrong, and forwards the rest. A test puts its own front before this proxy.
 */
export async function startEmulator({
  service,
  seed,
  complete,
  now,
}: Pick<EmulatorOptions, 'service' | 'seed'> & { complete?: Act; now(): number }): Promise<EmulatorTarget> {
  const port = await findFreePort('127.0.0.1');
  const front = await startFront({ to: `http://127.0.0.1:${port}`, now, inProcess: true });
  // The emulator uses the front's address as its own: the front could not rewrite what is signed, such as the issuer of a token.
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
