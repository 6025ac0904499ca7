import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { Terminal } from '../errors.js';
import type { HookActor, HookDecision, HookRequest, Notifications } from '../notifications.js';
import type { SlackApi, SlackUser, Workspace } from './api.js';
import { actionId, escapeSlack } from './compose.js';

/** Requests that are older, or further in the future, are rejected, as Slack advises. In milliseconds. */
const longestAge = 5 * 60_000;

const clickSchema = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: z.string().min(1) }),
  team: z.object({ id: z.string() }).nullish(),
  enterprise: z.object({ id: z.string() }).nullish(),
  container: z.object({ type: z.literal('message'), message_ts: z.string(), channel_id: z.string() }),
  actions: z.array(z.object({ action_id: z.string(), value: z.string().optional() })),
});
type Click = z.infer<typeof clickSchema>;

/** Returns the handler of the clicks that Slack signs with this secret. */
export function receiveWith(secret: string, api: SlackApi): NonNullable<Notifications['receive']> {
  return async (request, now) => {
    requireSigned(secret, request, now);
    const click = readClick(request.body);
    const token = click && tokenOf(click);
    return token === undefined ? {} : { decision: decisionOf(api, click as Click, token) };
  };
}

/**
 * Throws `Terminal` unless Slack signed these bytes within five minutes (version `v0`: HMAC-SHA256 of version, time and body). The
 * time is compared after the signature, which covers it.
 */
function requireSigned(secret: string, { headers, body }: HookRequest, now: Date): void {
  const time = headers['x-slack-request-timestamp'] ?? '';
  const made = createHmac('sha256', secret).update(`v0:${time}:`).update(body).digest('hex');
  const expected = Buffer.from(`v0=${made}`);
  const given = Buffer.from(headers['x-slack-signature'] ?? '');
  if (expected.length !== given.length || !timingSafeEqual(expected, given))
    throw new Terminal('The request is not signed by Slack');
  const age = /^\d{1,12}$/.test(time) ? Math.abs(now.getTime() - Number(time) * 1_000) : Number.POSITIVE_INFINITY;
  if (age > longestAge) throw new Terminal('The request is too old');
}

/** Returns a click in a message; undefined for everything else that Slack sends. */
function readClick(body: Uint8Array): Click | undefined {
  const payload = new URLSearchParams(Buffer.from(body).toString('utf8')).get('payload');
  if (payload === null) return undefined;
  try {
    return clickSchema.safeParse(JSON.parse(payload)).data;
  } catch {
    return undefined;
  }
}

/** Returns the token of the clicked button; undefined unless the request has exactly one action of ours. */
function tokenOf({ actions }: Click): string | undefined {
  const ours = actions.filter(({ action_id: action }) => Object.values<string>(actionId).includes(action));
  return ours.length === 1 ? ours[0]?.value : undefined;
}

function decisionOf(api: SlackApi, click: Click, token: string): HookDecision {
  const { channel_id: channel, message_ts: ts } = click.container;
  return {
    token,
    receipt: { channel, ts },
    actor: (signal) => findActor(api, click, signal),
    tell: (text, signal) => api.whisper({ channel, user: click.user.id, text: escapeSlack(text) }, signal),
  };
}

/**
 * Reads from Slack who clicked. Returns null for a user who is not a full member of this workspace: guests, bots, people of other
 * workspaces in a shared channel, and deactivated accounts. No e-mail address is taken from the click itself.
 */
async function findActor(api: SlackApi, click: Click, signal: AbortSignal): Promise<HookActor | null> {
  const own = await api.workspace(signal);
  if (!isFrom(own, click)) return null;
  const user = await api.user(click.user.id, signal);
  if (!user || user.id !== click.user.id || !isMember(own, user)) return null;
  const { email } = user.profile;
  return { subject: user.id, ...(email && user.is_email_confirmed ? { email } : {}) };
}

/**
 * Returns whether a click comes from our workspace, or, when it names no workspace, from our organization: the same
 * user id can exist in two workspaces.
 */
function isFrom({ team_id: team, enterprise_id: organization }: Workspace, click: Click): boolean {
  if (click.team) return click.team.id === team;
  return Boolean(organization) && click.enterprise?.id === organization;
}

function isMember({ team_id: team, enterprise_id: organization }: Workspace, user: SlackUser): boolean {
  const { enterprise_id: theirs, teams = [] } = user.enterprise_user ?? {};
  const isOurs = user.team_id === team || (Boolean(organization) && theirs === organization && teams.includes(team));
  const isGuest = user.is_restricted || user.is_ultra_restricted || user.is_stranger || user.is_invited_user;
  return isOurs && !isGuest && !user.is_bot && !user.deleted;
}
