import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey, type Keyring } from '../keyring.js';

/** A form as a page has it: whom it was shown to, and the address that it posts to. */
export interface ShownForm {
  userId: string;
  action: string;
}

/**
 * Returns the signature of a form for the person to whom it is shown. Only this server can create it, and it reveals nothing about the
 * person. With it, a form proves to whom it was shown even after their login has ended (decision 0059).
 */
export function signForm(keyring: Keyring, form: ShownForm): string {
  const secret = keyring.secrets.get(keyring.current);
  if (!secret) throw new Error('The keyring has no current key');
  return `${keyring.current}.${macOf(secret, form)}`;
}

/** Returns whether a signature is that of this form, shown to this person. Compares in constant time. */
export async function isSignatureOf(keyring: Keyring, signature: string, form: ShownForm): Promise<boolean> {
  const [kid = '', mac = '', ...more] = signature.split('.');
  const secret = keyring.secrets.get(kid) ?? (await keyring.find?.(kid));
  if (!secret || more.length > 0) return false;
  const [given, expected] = [Buffer.from(mac), Buffer.from(macOf(secret, form))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function macOf(secret: Uint8Array, { userId, action }: ShownForm): string {
  return createHmac('sha256', deriveKey(secret, 'form')).update(`${userId}\n${action}`).digest('base64url');
}
