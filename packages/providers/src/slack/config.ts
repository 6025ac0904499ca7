import { z } from 'zod';
import { endpoint } from '../endpoint.js';

const settings = z.strictObject({
  /** The token of the app's bot user, of one workspace. */
  token: z
    .string()
    .regex(/^xoxb-[A-Za-z0-9-]+$/, 'must be the token of a bot user, which begins with xoxb-; turn off token rotation'),
  /** The secret with which Slack signs clicks, from the page "Basic Information" of the app. */
  signing_secret: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'must be the signing secret of the app: 32 hexadecimal digits')
    .optional(),
  /** Which decisions approvers can make with buttons in a message. */
  decisions: z.enum(['off', 'deny_only', 'on']).default('off'),
  /** The address of Slack's Web API; GovSlack has another. */
  url: endpoint.default('https://slack.com/api'),
});

/** The configuration of a provider of type `slack`. */
export const slackConfig = settings.refine(
  ({ decisions, signing_secret: secret }) => decisions === 'off' || secret !== undefined,
  { path: ['signing_secret'], message: 'must be set unless decisions is off: without it nothing shows who clicked' },
);

export type SlackConfig = z.infer<typeof settings>;

/** The scopes without which the connector cannot work. */
export const requiredScopes = ['chat:write', 'im:write', 'users:read', 'users:read.email'] as const;

/** The scopes with which the connector finds a message whose delivery was not confirmed. */
export const historyScopes = ['channels:history', 'groups:history', 'im:history'] as const;
