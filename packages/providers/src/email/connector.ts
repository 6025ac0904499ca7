import type { Connector } from '../port.js';
import { type EmailConfig, emailConfig } from './config.js';

/** The connector for e-mail: messages with links to pages, by SMTP. */
export const emailConnector: Connector<EmailConfig> = {
  type: 'email',
  description: 'E-mail: messages by SMTP',
  capabilities: ['notifications'],
  config: emailConfig,
  create: async (config, tools) => (await import('./open.js')).openEmail(config, tools),
};
