import type { Connector } from '../port.js';
import { type WebhookConfig, webhookConfig } from './config.js';

/** The connector for webhooks: messages posted to an address, signed as Standard Webhooks describes, or as cards of Teams. */
export const webhookConnector: Connector<WebhookConfig> = {
  type: 'webhook',
  description: 'Webhook: messages posted to an address',
  capabilities: ['notifications'],
  config: webhookConfig,
  create: async (config, tools) => (await import('./open.js')).openWebhook(config, tools),
};
