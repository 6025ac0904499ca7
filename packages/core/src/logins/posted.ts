import { hashSecret } from '@belay/contract/canonical';
import { AccessError } from '@belay/contract/errors';
import type { oauthFlows } from '@belay/db';
import type { Authenticated } from '@belay/providers';
import { z } from 'zod';
import type { Context } from '../context.js';
import { providerTokens } from '../sessions/seal-tokens.js';
import { open, type SealOptions, seal } from '../tokens/seal.js';

/** `kind` distinguishes this sealed value from the others of a flow. */
const stored = z.object({
  kind: z.literal('answer'),
  proved: z.object({
    subject: z.string(),
    email: z.string(),
    emailVerified: z.literal(true),
    name: z.string(),
    groups: z.array(z.string()),
    organizations: z.array(z.string()).exactOptional(),
    tokens: providerTokens,
    endsAt: z.coerce.date().exactOptional(),
  }),
});

/** Seals the identity that a provider's post proved, until the browser of the flow fetches it. */
export function sealAnswer(ctx: Context, proved: Authenticated, options: SealOptions): Promise<string> {
  const { endsAt, tokens, ...rest } = proved;
  const ends = endsAt === undefined ? {} : { endsAt: endsAt.toISOString() };
  return seal(ctx.keyring, 'oauth', { kind: 'answer', proved: { ...rest, ...ends, tokens: { ...tokens } } }, options);
}

/** Returns the posted identity of a flow, for the browser that got the code with the reply to the post. Throws `forbidden`. */
export async function openAnswer(
  ctx: Context,
  flow: typeof oauthFlows.$inferSelect,
  code: string,
  now: Date,
): Promise<Authenticated> {
  if (flow.answer === null || flow.answerHash !== hashSecret(code)) {
    throw new AccessError('forbidden', 'The provider did not confirm your identity');
  }
  return stored.parse(await open(ctx.keyring, 'oauth', flow.answer, now)).proved;
}
