import { Terminal } from '../errors.js';
import type { EncryptionService } from './port.js';

/**
 * Checks a service without a further permission: wraps material that is not secret, and unwraps it. Throws `Terminal`
 * when the result differs.
 */
export async function checkByWrapping(
  service: Pick<EncryptionService, 'wrap' | 'unwrap'>,
  signal: AbortSignal,
): Promise<void> {
  const material = new Uint8Array(32);
  const back = await service.unwrap(await service.wrap(material, signal), signal);
  if (!Buffer.from(back).equals(material)) throw new Terminal('The service did not return the key that it wrapped');
}
