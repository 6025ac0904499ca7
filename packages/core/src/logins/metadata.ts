import { AccessError } from '@belay/contract/errors';
import type { Context } from '../context.js';
import { authenticatorOf, redirectUri } from './flow.js';

/**
 * Returns the XML that a provider needs about this service before people can sign in with it. Throws `not_found` and
 * `not_configured`.
 */
export async function readSignInMetadata(ctx: Context, input: { provider: string }): Promise<{ metadata: string }> {
  const metadata = await authenticatorOf(ctx, input.provider).metadata?.(redirectUri(ctx, input.provider));
  if (metadata === undefined) {
    throw new AccessError('not_configured', `The provider "${input.provider}" does not use metadata`);
  }
  return { metadata };
}
