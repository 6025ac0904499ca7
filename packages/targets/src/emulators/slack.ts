import { createHmac } from 'node:crypto';
import { completeSlack, type SlackWorld } from './slack-world.js';
import { type EmulatorTarget, startEmulator } from './start.js';

/** A message as Slack shows it to the members of its channel. */
export interface SlackMessage {
  ts: string;
  text: string;
  blocks?: SlackBlock[];
  metadata?: { event_payload: Record<string, unknown> };
  [key: string]: unknown;
}

interface SlackText {
  type: string;
  text: string;
}

export interface SlackBlock {
  type: string;
  text?: SlackText;
  fields?: SlackText[];
  elements?: { type: string; action_id: string; value: string; text: SlackText }[];
}

export interface SlackClick {
  user: string;
  channel: string;
  /** The message with the button that is clicked; a test of forgery gives another message. */
  message: SlackMessage;
  action: string;
  /** When Slack signs it, in milliseconds; now unless set. */
  at?: number;
  secret?: string;
  /** Changes the payload before it is signed. */
  change?: (payload: Record<string, unknown>) => Record<string, unknown>;
}

export interface SlackTarget extends EmulatorTarget {
  team: string;
  /** The app: the tokens of its bot user by their names, and the secret with which Slack signs clicks. */
  app: { tokens: Readonly<Record<string, string>>; signingSecret: string; user: string };
  /** The changes that a test can make at Slack beside the connector. */
  world: SlackWorld;
  /** Returns the identifier of a user by their e-mail address. */
  user(email: string): string;
  /** Returns the identifier of a channel by its name. */
  channel(name: string): string;
  /** Returns the identifier of the channel of direct messages from the app to a user. */
  direct(user: string): Promise<string>;
  /** Returns the messages of a channel, the newest first. */
  messages(channel: string): Promise<SlackMessage[]>;
  /** Calls a method with a token of the app. */
  call(method: string, form: Record<string, string>, token?: string): Promise<Record<string, unknown>>;
  /** Returns the signed request that Slack sends after a click. */
  click(click: SlackClick): { headers: Record<string, string>; body: string };
}

export interface SlackOptions {
  /** E-mail addresses of the members. */
  members: readonly string[];
  channels?: readonly { name: string; isPrivate?: boolean }[];
  /** Tokens beside `full`, by their names, with the scopes that they have. */
  tokens?: Readonly<Record<string, readonly string[]>>;
  now(): number;
}

const everyScope = [
  'chat:write',
  'im:write',
  'users:read',
  'users:read.email',
  'channels:history',
  'groups:history',
  'im:history',
  'channels:read',
  'groups:read',
];
const bot = 'UBELAYBOT';

/** Starts the emulator of Slack with an app in a workspace. What the emulator lacks is in `slack-world.ts`. */
export async function startSlack({ members, channels = [], tokens = {}, now }: SlackOptions): Promise<SlackTarget> {
  const signingSecret = '8f742231b10e8888abcd99beef85a5c0';
  const scopes = { full: everyScope, ...tokens };
  const values = Object.fromEntries(Object.keys(scopes).map((name) => [name, `xoxb-1-${name}`]));
  const { complete, world } = completeSlack(
    Object.fromEntries(Object.entries(scopes).map(([name, some]) => [values[name], some])),
  );
  const target = await startEmulator({
    service: 'slack',
    now,
    complete,
    seed: {
      slack: {
        strict_scopes: true,
        users: members.map((email) => ({ name: email.replace(/@.*/, ''), email })),
        channels: channels.map(({ name, isPrivate }) => ({ name, is_private: isPrivate ?? false })),
        oauth_apps: [
          {
            client_id: 'belay',
            client_secret: 'secret',
            name: 'Belay',
            redirect_uris: [],
            bot_id: 'BBELAY',
            bot_user_id: bot,
            bot_name: 'belay',
          },
        ],
        tokens: Object.entries(scopes).map(([name, some]) => ({
          token: values[name] ?? '',
          type: 'bot',
          user_id: bot,
          scopes: [...some],
          bot_id: 'BBELAY',
        })),
      },
    },
  });
  const call: SlackTarget['call'] = async (method, form, token = values.full) => {
    const answer = await fetch(`${target.url}/api/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: new URLSearchParams(form),
    });
    return (await answer.json()) as Record<string, unknown>;
  };
  const { team_id: team } = await call('auth.test', {});
  const users = await readIdentifiers(call, 'users.list', 'members', (one) => one.profile?.email);
  const named = await readIdentifiers(call, 'conversations.list', 'channels', (one) => one.name);

  return {
    ...target,
    team: String(team),
    app: { tokens: values, signingSecret, user: bot },
    world,
    call,
    user: (email) => users.get(email) ?? '',
    channel: (name) => named.get(name) ?? '',
    async direct(user) {
      return ((await call('conversations.open', { users: user })).channel as { id: string }).id;
    },
    async messages(channel) {
      const found = await call('conversations.history', { channel, include_all_metadata: 'true' });
      return found.messages as SlackMessage[];
    },
    click: (click) => signClick(click, { team: String(team), signingSecret, now }),
  };
}

type Item = { id: string; name?: string; profile?: { email?: string } };

async function readIdentifiers(
  call: SlackTarget['call'],
  method: string,
  list: string,
  nameOf: (item: Item) => string | undefined,
): Promise<Map<string, string>> {
  const found = await call(method, { limit: '1000', types: 'public_channel,private_channel' });
  return new Map((found[list] as Item[]).map((item) => [nameOf(item) ?? '', item.id]));
}

/** Returns the request that Slack sends when a button in a message is clicked, according to the reference of `block_actions`. */
function signClick(
  { user, channel, message, action, at, secret, change = (same) => same }: SlackClick,
  { team, signingSecret, now }: { team: string; signingSecret: string; now(): number },
) {
  const button = message.blocks?.flatMap(({ elements = [] }) => elements).find(({ action_id: id }) => id === action);
  const payload = change({
    type: 'block_actions',
    user: { id: user, username: 'somebody', name: 'somebody', team_id: team },
    api_app_id: 'A1',
    token: 'the old verification token',
    container: { type: 'message', message_ts: message.ts, channel_id: channel, is_ephemeral: false },
    trigger_id: '1.2.3',
    team: { id: team, domain: 'acme' },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: channel, name: 'approvals' },
    message,
    response_url: 'https://hooks.slack.example/actions/1',
    actions: [{ ...button, action_id: action, type: 'button', block_id: 'b', action_ts: '1.1' }],
  });
  const body = `payload=${encodeURIComponent(JSON.stringify(payload))}`;
  const time = String(Math.floor((at ?? now()) / 1_000));
  const signature = createHmac('sha256', secret ?? signingSecret)
    .update(`v0:${time}:${body}`)
    .digest('hex');
  return {
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${signature}`,
    },
    body,
  };
}
