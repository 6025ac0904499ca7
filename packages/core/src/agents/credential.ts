import type { Store } from '../context.js';

/** A different form than the secret of a login, so that neither is ever looked up as the other. */
const prefix = 'belay-agent.';

/** Returns a secret of 256 bits that proves an agent; only its hash is stored. */
export function newAgentCredential(ctx: Store): string {
  return `${prefix}${Buffer.from(ctx.randomBytes(32)).toString('base64url')}`;
}

/** Returns whether a text has the form of an agent's credential. */
export function isAgentCredential(token: string): boolean {
  return token.startsWith(prefix) && /^[A-Za-z0-9_-]{43}$/.test(token.slice(prefix.length));
}
