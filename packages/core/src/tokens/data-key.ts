import { type EncryptionService, Terminal } from '@belay/providers';
import { identifyKey } from '../keyring.js';

const length = 32;

/** A key management service that is ready to wrap keys; `name` is the service and its key, from `services.encryption`. */
export interface KeyWrapping {
  service: EncryptionService;
  name: string;
}

/** Creates a data key, wrapped as it is stored. Unwraps it once, so that nothing is ever sealed with a key that cannot be recovered. */
export async function makeDataKey(
  wrapping: KeyWrapping,
  randomBytes: (size: number) => Uint8Array,
  signal: AbortSignal,
): Promise<{ kid: string; wrapped: Uint8Array; wrappedBy: string; service: string }> {
  const material = randomBytes(length);
  const kid = identifyKey(material);
  const { wrapped, key } = await wrapping.service.wrap(material, signal);
  await unwrapDataKey(wrapping.service, { kid, wrapped, wrappedBy: key }, signal);
  return { kid, wrapped, wrappedBy: key, service: wrapping.name };
}

/**
 * Returns the unwrapped data key of a stored row. Throws the error of the service, and `Terminal` when the unwrapped key is not the
 * key of the row.
 */
export async function unwrapDataKey(
  service: EncryptionService,
  row: { kid: string; wrapped: Uint8Array; wrappedBy: string },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const material = await service.unwrap({ wrapped: row.wrapped, key: row.wrappedBy }, signal);
  if (material.byteLength !== length || identifyKey(material) !== row.kid) {
    throw new Terminal('The unwrapped key differs from the key that was wrapped');
  }
  return new Uint8Array(material);
}
