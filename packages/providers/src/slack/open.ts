import { createHash } from 'node:crypto';
import { foldAddress } from '@belay/contract/address';
import { z } from 'zod';
import { Terminal } from '../errors.js';
import type { Message, Notifications } from '../notifications.js';
import type { ConnectorTools, ProviderClient, Weakness } from '../port.js';
import { openApi, type SlackApi } from './api.js';
import { composeSlackMessage } from './compose.js';
import { historyScopes, requiredScopes, type SlackConfig } from './config.js';
import { codeOf, explainMessageFault } from './faults.js';
import { receiveWith } from './receive.js';

const receiptSchema = z.object({ channel: z.string(), ts: z.string() });

/** Shows texts as they are: without mentions, previews of links or further parsing. */
const asWritten = { unfurl_links: false, unfurl_media: false, link_names: false, parse: 'none', mrkdwn: false };

/** Opens the client of a workspace at Slack. */
export async function openSlack(config: SlackConfig, tools: ConnectorTools): Promise<ProviderClient> {
  const api = await openApi(config, tools);
  return {
    notifications: createNotifications(config, api),
    check: (signal) => check(api, signal),
    weaknesses: (signal) => findWeaknesses(api, signal),
    close: () => api.close(),
  };
}

function createNotifications({ signing_secret: secret }: SlackConfig, api: SlackApi): Notifications {
  return {
    deliver: (message, signal) =>
      mended(async () => {
        const channel = await findChannel(api, message.to, signal);
        const metadata = { event_type: 'belay_message', event_payload: { key: markOf(message) } };
        const posted = await api.post({ channel, ...composeSlackMessage(message), ...asWritten, metadata }, signal);
        return { channel: posted.channel, ts: posted.ts };
      }),
    find: (message, signal) =>
      mended(async () => {
        const channel = await findChannel(api, message.to, signal);
        const [{ user_id: us }, messages] = await Promise.all([
          api.workspace(signal),
          api.history(channel, signal).catch(withoutScope),
        ]);
        // Only our own messages count, because another app can write the same mark.
        const found = messages.find(
          ({ user, metadata }) => user === us && metadata?.event_payload?.key === markOf(message),
        );
        return found ? { channel, ts: found.ts } : null;
      }),
    revise: (receipt, message, signal) =>
      mended(async () => {
        const place = receiptSchema.parse(receipt);
        try {
          await api.update({ ...place, ...composeSlackMessage(message), link_names: false, parse: 'none' }, signal);
        } catch (error) {
          // A person has deleted the message, and its buttons with it.
          if (codeOf(error) !== 'message_not_found') throw error;
        }
      }),
    ...(secret === undefined ? {} : { receive: receiveWith(secret, api) }),
  };
}

async function mended<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainMessageFault(error);
  }
}

/** Returns no messages when the scope to read them is missing: the message is then posted again. */
function withoutScope(error: unknown): [] {
  if (codeOf(error) === 'missing_scope') return [];
  throw error;
}

function markOf({ idempotencyKey }: Pick<Message, 'idempotencyKey'>): string {
  return createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 40);
}

/** Returns the channel for a recipient: a channel, a user, or a member's e-mail address. Channel names can change, so they are rejected. */
async function findChannel(api: SlackApi, to: string, signal: AbortSignal): Promise<string> {
  if (/^[CGD][A-Z0-9]{5,30}$/.test(to)) return to;
  if (/^[UW][A-Z0-9]{5,30}$/.test(to)) return api.openDirect(to, signal);
  if (foldAddress(to) === undefined)
    throw new Terminal('The recipient of a message must be the ID of a channel or user, or an e-mail address');
  const user = await api.userByEmail(to, signal);
  if (!user || user.deleted || user.is_bot) throw new Terminal('Slack has no member with the e-mail address in "to"');
  return api.openDirect(user.id, signal);
}

async function check(api: SlackApi, signal: AbortSignal): Promise<void> {
  const { workspace, scopes } = await api.authorization(signal);
  if (workspace.is_enterprise_install)
    throw new Terminal('The Slack app must be installed in one workspace, not in the whole organization');
  const missing = requiredScopes.filter((scope) => scopes !== undefined && !scopes.includes(scope));
  if (missing.length > 0) throw new Terminal(`The Slack app lacks the scope ${missing.join(', ')}`);
}

async function findWeaknesses(api: SlackApi, signal: AbortSignal): Promise<Weakness[]> {
  const { scopes } = await api.authorization(signal);
  const missing = historyScopes.filter((scope) => scopes !== undefined && !scopes.includes(scope));
  if (missing.length === 0) return [];
  return [
    {
      message: `the Slack app lacks the scope ${missing.join(', ')}: when a response of Slack is lost, a message is posted twice, and the first one keeps its buttons`,
      cure: 'Add the scopes to the app, and install it again; or accept that, since such buttons decide nothing',
    },
  ];
}
