import { AccessError } from '@belay/contract/errors';
import { z } from 'zod';
import { requireUser } from '../actor.js';
import type { ActorContext, Context } from '../context.js';
import { readNow } from '../now.js';
import { open, seal } from '../tokens/seal.js';
import { isSignatureOf } from './sign-form.js';

/** What a person wrote in a form that was not accepted, because their login had ended. */
export interface UnsentForm {
  /** The operation that the form is for. */
  procedure: string;
  /** The address that the form posts to. */
  action: string;
  /** Proves to whom the form was shown: see `signForm`. */
  signature: string;
  fields: Readonly<Record<string, unknown>>;
}

/** How long the fields can be opened: long enough to sign in again, and no longer. */
const lifetime = 60 * 60_000;

/** The largest form that is kept, in characters of JSON; the longest form of a page is shorter. */
const largest = 32_768;

const unsentForm = z.object({
  procedure: z.string(),
  action: z.string(),
  signature: z.string(),
  fields: z.record(z.string(), z.unknown()),
});

/**
 * Returns the sealed fields of a form whose sender has no login; undefined when they are too large. The page that carries the sealed fields
 * cannot show them, and only the person to whom the form was shown can open them (`openUnsent`).
 */
export async function keepUnsent(ctx: Context, form: UnsentForm): Promise<string | undefined> {
  if (JSON.stringify(form).length > largest) return undefined;
  return seal(ctx.keyring, 'unsent', { ...form }, { now: await readNow(ctx.db), lifetime });
}

/**
 * Returns a form that was not accepted because the caller's login had ended. Throws `invalid` for a text that is expired or was not sealed
 * here, and `forbidden` when the form was shown to another person.
 */
export async function openUnsent(ctx: ActorContext, sealed: string): Promise<UnsentForm> {
  const form = unsentForm.parse(await open(ctx.keyring, 'unsent', sealed, await readNow(ctx.db)));
  const shown = { userId: requireUser(ctx).id, action: form.action };
  if (await isSignatureOf(ctx.keyring, form.signature, shown)) return form;
  throw new AccessError('forbidden', 'The form was shown to another person; sign in as that person to open it');
}
