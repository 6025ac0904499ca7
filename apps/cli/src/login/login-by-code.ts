import { printable } from '@belay/contract/printable';
import { type BelayClient, isBelayError, type PolledDeviceLogin } from '@belay/sdk';
import { CliError } from '../cli-error.js';
import type { Output } from '../output/output.js';
import type { Shell } from '../shell.js';

export type CompletedDeviceLogin = Extract<PolledDeviceLogin, { status: 'complete' }>;

/** Added to the polling interval when the server responds with `slow_down` (RFC 8628, section 3.5), in milliseconds. */
const slower = 5_000;

/**
 * Signs in without a browser on this machine (RFC 8628): shows a short code, and waits until the person has confirmed it in a browser on
 * any machine. Throws `forbidden` when the person rejects it, and `aborted` when it has expired.
 */
export async function loginByCode(
  client: BelayClient,
  label: string,
  { output, shell }: { output: Output; shell: Shell },
): Promise<CompletedDeviceLogin> {
  const { signal } = shell;
  const started = await client.auth.startDevice(label, { signal });
  output.notice(`Open ${printable(started.verification_uri)} in any browser and confirm the code:`);
  output.notice(`\n    ${output.colours.bold(printable(started.user_code))}\n`);
  const until = shell.clock().getTime() + started.expires_in * 1000;
  let interval = started.interval * 1000;
  while (shell.clock().getTime() < until) {
    await shell.delay(interval, signal);
    // The server rejects an expired code, and its clock may reach that time a moment before the clock of this machine.
    const isLast = shell.clock().getTime() + interval >= until;
    const polled = await poll(client, started.device_code, signal).catch((error: unknown) => {
      if (isLast && isBelayError(error, 'invalid')) return undefined;
      throw error;
    });
    if (polled === undefined) continue;
    if (polled.status === 'complete') return polled;
    interval = Math.max(polled.interval * 1000, polled.status === 'slow_down' ? interval + slower : 0);
  }
  throw new CliError('aborted', 'not signed in: the code was not confirmed in time');
}

/** Returns undefined while the server is unavailable: the code stays valid, so polling continues. */
async function poll(
  client: BelayClient,
  deviceCode: string,
  signal: AbortSignal,
): Promise<PolledDeviceLogin | undefined> {
  try {
    return await client.auth.pollDevice(deviceCode, { signal });
  } catch (error) {
    if (isBelayError(error, 'network') || isBelayError(error, 'unavailable')) return undefined;
    throw error;
  }
}
