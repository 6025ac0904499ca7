import { hashSecret } from '@belay/contract/canonical';
import type { Store } from '../../context.js';

/** Consonants that are hard to confuse and that form no words (RFC 8628, section 6.1). */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const length = 8;

/** Returns a code that a person can type, `XXXX-XXXX`: one of 25 thousand million, each equally likely. */
export function newUserCode(ctx: Pick<Store, 'randomBytes'>): string {
  let code = '';
  while (code.length < length) {
    // Bytes from 240 on, the last multiple of 20, would make some letters more likely.
    for (const byte of ctx.randomBytes(16)) if (byte < 240 && code.length < length) code += letters[byte % 20];
  }
  return written(code);
}

function written(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** Returns the code in its displayed form, however it was typed; undefined for a text that cannot be a code. */
export function readUserCode(typed: string): string | undefined {
  const code = typed.toUpperCase().replace(/[^A-Z]/g, '');
  return code.length === length ? written(code) : undefined;
}

/** Returns the hash by which a code is looked up, from the result of `readUserCode`. */
export function hashUserCode(code: string): string {
  return hashSecret(`user code ${code}`);
}
