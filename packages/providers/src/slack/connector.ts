import type { Verdict } from '../notifications.js';
import type { Connector } from '../port.js';
import { type SlackConfig, slackConfig } from './config.js';

const verdicts: Record<SlackConfig['decisions'], readonly Verdict[]> = {
  off: [],
  deny_only: ['deny'],
  on: ['approve', 'deny'],
};

/** The connector for Slack: messages to people and channels, and decisions by buttons in them. */
export const slackConnector: Connector<SlackConfig> = {
  type: 'slack',
  description: 'Slack: messages, and decisions by their buttons',
  capabilities: ['notifications'],
  config: slackConfig,
  verdicts: ({ decisions }) => verdicts[decisions],
  create: async (config, tools) => (await import('./open.js')).openSlack(config, tools),
};
