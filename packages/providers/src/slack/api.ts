import { z } from 'zod';
import { Terminal } from '../errors.js';
import { parseAnswer } from '../http/answer.js';
import { openHttpClient } from '../http/client.js';
import { fixedCredentials } from '../http/tokens.js';
import type { ConnectorTools } from '../port.js';
import type { SlackConfig } from './config.js';
import { codeOf, explainSlack, waitOfSlack } from './faults.js';

const id = z.string().min(1);
const workspaceSchema = z.object({
  team_id: id,
  user_id: id,
  enterprise_id: id.nullish(),
  is_enterprise_install: z.boolean().nullish(),
});
/** A user for whom Slack leaves out these flags counts as deactivated, a bot and a guest, and so cannot decide. */
const userSchema = z.object({
  id,
  team_id: id.nullish(),
  deleted: z.boolean().default(true),
  is_bot: z.boolean().default(true),
  is_restricted: z.boolean().default(true),
  is_ultra_restricted: z.boolean().default(true),
  is_stranger: z.boolean().default(false),
  is_invited_user: z.boolean().default(false),
  is_email_confirmed: z.boolean().default(false),
  enterprise_user: z.object({ enterprise_id: id, teams: z.array(id).default([]) }).nullish(),
  profile: z.object({ email: z.string().nullish() }).default({}),
});
const postedSchema = z.object({ channel: id, ts: id });
const historySchema = z.object({
  messages: z.array(
    z.object({
      ts: id,
      user: z.string().nullish(),
      metadata: z.object({ event_payload: z.record(z.string(), z.unknown()).nullish() }).nullish(),
    }),
  ),
});

export type Workspace = z.infer<typeof workspaceSchema>;
export type SlackUser = z.infer<typeof userSchema>;

/** The place of a message: its channel, and its time stamp, which identifies it there. */
export type Posted = z.infer<typeof postedSchema>;

/** Slack's Web API, as far as the connector needs it. Each call throws `Retryable` or `Terminal`. */
export interface SlackApi {
  /** Returns the workspace and the user of the token; requested once, then cached. */
  workspace(signal: AbortSignal): Promise<Workspace>;
  /** Returns the same from a new request, and the scopes of the token; undefined when Slack does not state them. */
  authorization(signal: AbortSignal): Promise<{ workspace: Workspace; scopes: string[] | undefined }>;
  user(id: string, signal: AbortSignal): Promise<SlackUser | null>;
  userByEmail(email: string, signal: AbortSignal): Promise<SlackUser | null>;
  /** Returns the channel of the direct messages to a user. */
  openDirect(user: string, signal: AbortSignal): Promise<string>;
  post(message: Record<string, unknown>, signal: AbortSignal): Promise<Posted>;
  update(message: Record<string, unknown>, signal: AbortSignal): Promise<void>;
  whisper(message: Record<string, unknown>, signal: AbortSignal): Promise<void>;
  /** Returns the latest messages of a channel, the newest first. */
  history(channel: string, signal: AbortSignal): Promise<z.infer<typeof historySchema>['messages']>;
  close(): Promise<void>;
}

/** How many of a channel's latest messages are searched for a message. */
const mostHistory = 200;

export async function openApi({ token, url }: SlackConfig, { now, budget }: ConnectorTools): Promise<SlackApi> {
  const service = 'Slack';
  const client = await openHttpClient({
    service,
    url,
    now,
    budget,
    credentials: fixedCredentials(`Bearer ${token}`),
    waitOf: waitOfSlack,
    explain: (answer) => explainSlack(answer, now()),
  });
  // Slack has a separate rate limit for each method.
  const call = (method: string) => ({ method: 'POST', path: `/${method}`, family: method }) as const;
  const read = <T>(method: string, form: Record<string, string>, schema: z.ZodType<T>, signal: AbortSignal) =>
    client.ask({ ...call(method), form, schema }, signal);
  const write = <T>(method: string, json: object, schema: z.ZodType<T>, signal: AbortSignal) =>
    client.ask({ ...call(method), json, schema }, signal);
  let known: Promise<Workspace> | undefined;

  async function authorize(signal: AbortSignal) {
    const asked = call('auth.test');
    const { body, headers } = await client.send({ ...asked, form: {} }, signal);
    const scopes = headers['x-oauth-scopes']?.split(',').map((scope) => scope.trim());
    return { workspace: parseAnswer(workspaceSchema, body, { service, ...asked }), scopes };
  }

  return {
    workspace(signal) {
      known ??= authorize(signal).then(
        ({ workspace }) => workspace,
        (error: unknown) => {
          known = undefined;
          throw error;
        },
      );
      return known;
    },
    authorization: authorize,
    user: (user, signal) =>
      orNull(['user_not_found', 'user_not_visible'], async () => {
        const found = await read('users.info', { user }, z.object({ user: userSchema }), signal);
        return found.user;
      }),
    userByEmail: (email, signal) =>
      orNull(['users_not_found'], async () => {
        const found = await read('users.lookupByEmail', { email }, z.object({ user: userSchema }), signal);
        return found.user;
      }),
    async openDirect(users, signal) {
      const schema = z.object({ channel: z.object({ id }) });
      return (await write('conversations.open', { users }, schema, signal)).channel.id;
    },
    post: (message, signal) => write('chat.postMessage', message, postedSchema, signal),
    async update(message, signal) {
      await write('chat.update', message, z.object({ ok: z.literal(true) }), signal);
    },
    async whisper(message, signal) {
      await write('chat.postEphemeral', message, z.object({ ok: z.literal(true) }), signal);
    },
    async history(channel, signal) {
      const form = { channel, limit: String(mostHistory), include_all_metadata: 'true' };
      return (await read('conversations.history', form, historySchema, signal)).messages;
    },
    close: () => client.close(),
  };
}

async function orNull<T>(codes: readonly string[], work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Terminal && codes.includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}
