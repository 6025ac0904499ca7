import type { Context } from '../context.js';

/** Not the form of a login's secret, so that neither is ever looked up as the other. */
const prefix = 'belay-agent.';

/** A secret of 256 bits that proves an agent; only its hash is stored. */
export function newAgentCredential(ctx: Context): string {
  return `${prefix}${Buffer.from(ctx.randomBytes(32)).toString('base64url')}`;
}

/** Whether a text can be the credential of an agent at all. */
export function isAgentCredential(token: string): boolean {
  return token.startsWith(prefix) && /^[A-Za-z0-9_-]{43}$/.test(token.slice(prefix.length));
}
