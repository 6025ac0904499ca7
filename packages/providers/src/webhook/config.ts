import { z } from 'zod';
import { endpoint } from '../endpoint.js';

/** Standard Webhooks, "Symmetric": 24 to 64 random bytes in base64 after `whsec_`. */
const secret = z.string().refine(isSecret, {
  message:
    'must be whsec_ and the base64 of 24 to 64 random bytes, for example from: echo "whsec_$(openssl rand -base64 32)"',
});

const settings = z.strictObject({
  /** Where messages are posted. Secret with `format: teams`, where everyone who knows it can post. */
  url: endpoint,
  /** `cloudevents`: signed CloudEvents. `teams`: Adaptive Cards for a workflow of Microsoft Teams. */
  format: z.enum(['cloudevents', 'teams']).default('cloudevents'),
  /** The secrets that sign messages; two while the receiver changes from the older to the newer one. */
  secrets: z.array(secret).min(1).max(2).optional(),
  /** Whether the host may have an address of this machine or of a private network. */
  allow_private: z.boolean().default(false),
  /** The `source` of the CloudEvents. */
  source: z
    .string()
    .regex(/^[\w.~:/?#[\]@!$&'()*+,;=%-]{1,200}$/, 'must be a URI reference, for example https://belay.example.com')
    .default('urn:belay'),
});

/** The configuration of a provider of type `webhook`. */
export const webhookConfig = settings
  .refine(({ format, secrets }) => format === 'teams' || secrets !== undefined, {
    path: ['secrets'],
    message: 'must have at least one secret, so that the receiver can tell who sent a message',
  })
  .refine(({ format, secrets }) => format !== 'teams' || secrets === undefined, {
    path: ['secrets'],
    message: 'must be absent with format: teams, which verifies no signature: the URL is the secret there',
  });

export type WebhookConfig = z.infer<typeof settings>;

/** Returns the bytes of a secret. */
export function readSecret(text: string): Uint8Array {
  return Buffer.from(text.slice('whsec_'.length), 'base64');
}

function isSecret(text: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return false;
  const { length } = readSecret(text);
  return length >= 24 && length <= 64;
}
