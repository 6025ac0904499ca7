import { hashSecret } from '@belay/contract/canonical';
import type { Context } from '../../context.js';

/** Consonants that nobody confuses and that make no words (RFC 8628, section 6.1). */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const length = 8;

/** A code that a person can type, `XXXX-XXXX`: 25 thousand million of them, each equally likely. */
export function newUserCode(ctx: Pick<Context, 'randomBytes'>): string {
  let code = '';
  while (code.length < length) {
    // The bytes above the last whole round would make some letters likelier.
    for (const byte of ctx.randomBytes(16)) if (byte < 240 && code.length < length) code += letters[byte % 20];
  }
  return written(code);
}

function written(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** The code that somebody means, as it is shown, however it was typed; undefined for what cannot be one. */
export function readUserCode(typed: string): string | undefined {
  const code = typed.toUpperCase().replace(/[^A-Z]/g, '');
  return code.length === length ? written(code) : undefined;
}

/** What a code is looked up by. Takes it as `readUserCode` answers it. */
export function hashUserCode(code: string): string {
  return hashSecret(`user code ${code}`);
}
