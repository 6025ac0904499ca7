import type { Act, Exchange, Reply } from '../front/front.js';

/** The changes that a test can make at Slack beside the connector, and the state that no API of the emulator shows. */
export interface SlackWorld {
  /** Changes the fields of a user from now on: guests, bots, deactivated people, people of other workspaces. */
  describe(user: string, fields: Record<string, unknown>): void;
  /** Changes the fields of the app's installation from now on. */
  install(fields: Record<string, unknown>): void;
  /** The messages that only one person was shown. */
  whispers: readonly { channel: string; user: string; text: string }[];
}

/** The fields of people unless a test changes them: the emulator does not have these fields. */
const member = {
  is_restricted: false,
  is_ultra_restricted: false,
  is_app_user: false,
  is_email_confirmed: true,
};

/** The methods that accept no JSON at Slack. */
const readers = ['users.info', 'users.lookupByEmail', 'conversations.history'];

/**
 * Creates an act for what the emulator of Slack lacks or gets wrong: unknown tokens, the scopes of a token in a header, fields of
 * users, the limits of blocks, methods that accept no JSON, and metadata of messages only for calls that request it.
 */
export function completeSlack(tokens: Readonly<Record<string, readonly string[]>>) {
  const described = new Map<string, Record<string, unknown>>();
  const whispers: { channel: string; user: string; text: string }[] = [];
  let installation: Record<string, unknown> = {};

  async function answer(exchange: Exchange, method: string): Promise<Reply> {
    const { headers, body } = exchange.request;
    const isJson = headers['content-type']?.includes('application/json') === true;
    if (isJson && readers.includes(method)) return refuse('invalid_arguments');
    const sent = (isJson ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body))) as Sent;
    if (Array.isArray(sent.blocks) && !sent.blocks.every(isBlock)) return refuse('invalid_blocks');
    const reply = await exchange.forward();
    const found = JSON.parse(String(reply.body)) as Answer;
    if (!found.ok) return reply;
    if (method === 'chat.postEphemeral') whispers.push(pick(sent));
    if (method === 'auth.test') return { ...reply, body: { ...found, ...installation } };
    if (found.user && typeof found.user === 'object') {
      return { ...reply, body: { ...found, user: { ...member, ...found.user, ...described.get(found.user.id) } } };
    }
    if (found.messages && sent.include_all_metadata !== 'true') {
      return { ...reply, body: { ...found, messages: found.messages.map(({ metadata: _, ...rest }) => rest) } };
    }
    return reply;
  }

  const complete: Act = {
    name: 'complete Slack',
    async run(exchange) {
      const { path, headers } = exchange.request;
      const method = new URL(path, 'http://127.0.0.1').pathname.replace('/api/', '');
      const token = headers.authorization?.replace('Bearer ', '') ?? '';
      const scopes = tokens[token];
      if (!scopes) return refuse(token === '' ? 'not_authed' : 'invalid_auth');
      const reply = await answer(exchange, method);
      return { ...reply, headers: { ...reply.headers, 'x-oauth-scopes': scopes.join(',') } };
    },
  };

  const world: SlackWorld = {
    describe: (user, fields) => void described.set(user, { ...described.get(user), ...fields }),
    install: (fields) => {
      installation = { ...installation, ...fields };
    },
    whispers,
  };
  return { complete, world };
}

interface Sent {
  blocks?: unknown;
  channel?: string;
  user?: string;
  text?: string;
  include_all_metadata?: string;
}

interface Answer {
  ok: boolean;
  user?: { id: string };
  messages?: Record<string, unknown>[];
}

interface Text {
  type?: string;
  text?: string;
}

interface Block {
  type?: string;
  text?: Text;
  fields?: Text[];
  elements?: { text?: Text; value?: string; action_id?: string }[];
}

const pick = ({ channel = '', user = '', text = '' }: Sent) => ({ channel, user, text });

const isText = (text: Text | undefined, most: number) =>
  text === undefined || (typeof text.text === 'string' && text.text.length > 0 && text.text.length <= most);

/** Returns whether a block is within the limits of Slack's reference of blocks. */
function isBlock(block: unknown): boolean {
  const { type, text, fields = [], elements = [] } = block as Block;
  return (
    isText(text, type === 'header' ? 150 : 3_000) &&
    (type !== 'header' || text?.type === 'plain_text') &&
    fields.length <= 10 &&
    fields.every((field) => isText(field, 2_000)) &&
    elements.length <= 25 &&
    elements.every((one) => isText(one.text, 75) && (one.value ?? '').length <= 2_000)
  );
}

const refuse = (error: string): Reply => ({ status: 200, body: { ok: false, error } });
