import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { AccessError, invalid, notFound } from '@belay/contract/errors';
import { InexactNumber, parseExactly } from '@belay/contract/exact-json';
import { limits } from '@belay/contract/limits';
import { executions } from '@belay/db';
import { workflowOf } from '@belay/engine';
import type { CloudEvent, Json } from '@belay/workflow';
import { eq } from 'drizzle-orm';
import { z } from 'zod';
import { withActor } from '../actor.js';
import type { EventSource } from '../configuration/event-sources.js';
import type { Context } from '../context.js';
import { isId } from '../find-execution.js';
import { readNow } from '../now.js';
import { requireJson, requireText } from '../text.js';
import { acceptEvent } from './deliver.js';
import { isHeard, type Sender } from './senders.js';

export interface ReceivedEvent {
  /** The source's name in the configuration. */
  source: string;
  /** A CloudEvent 1.0 in structured JSON, as it was sent: a signature covers exactly these bytes. */
  body: string;
  /** The bearer token of the request. */
  token?: string | undefined;
  /** The headers of Standard Webhooks. */
  webhook?: { id: string; timestamp: string; signature: string } | undefined;
}

const eventSchema = z.object({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  type: z.string().min(1),
  subject: z.string().min(1),
  data: z.json().optional(),
});

/** The largest difference between a signature's time and ours, in milliseconds. */
const tolerance = 5 * 60_000;

/**
 * Receives the event of a program for the execution that its `subject` names. The `source` in the event is ignored:
 * the source is the one whose secret was used. Throws `unauthenticated` for both an unknown source and a wrong secret,
 * `invalid` for a body that is not such an event, `not_found` for an execution that does not exist or accepts no events
 * of this source, and the errors of `acceptEvent`.
 */
export async function receiveEvent(ctx: Context, received: ReceivedEvent): Promise<{ status: 'accepted' }> {
  const { source: name, body, webhook } = received;
  const source = ctx.catalog.current().eventSources.get(name);
  const now = await readNow(ctx.db);
  if (!isProved(source, received, now)) {
    throw new AccessError('unauthenticated', 'The event source is unknown, or its credential is not valid');
  }
  const event = readEvent(body);
  const sender: Sender = { kind: 'source', name };
  const [execution] = isId(event.subject)
    ? await ctx.db.select().from(executions).where(eq(executions.id, event.subject))
    : [];
  if (!execution || !isHeard(await workflowOf(ctx.db, execution), sender)) throw notFound('The execution');
  const arrived: CloudEvent = {
    specversion: '1.0',
    id: event.id,
    source: `urn:belay:source:${name}`,
    type: event.type,
    subject: execution.id,
    time: now.toISOString(),
    data: event.data ?? null,
  };
  await acceptEvent(withActor(ctx, { kind: 'system', name: `event source ${name}` }), {
    executionId: execution.id,
    event: arrived,
    sender,
    deliveryId: source?.kind === 'standard_webhooks' ? webhook?.id : undefined,
    early: 'kept',
  });
  return { status: 'accepted' };
}

function readEvent(body: string): { id: string; type: string; subject: string; data?: Json | undefined } {
  let parsed: unknown;
  try {
    parsed = parseExactly(body);
  } catch (error) {
    throw invalid('', error instanceof InexactNumber ? `The body ${error.message}` : 'The body is not JSON');
  }
  const event = eventSchema.safeParse(parsed);
  if (!event.success) {
    throw new AccessError('invalid', 'The body is not a CloudEvent 1.0 with a subject', {
      issues: event.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
    });
  }
  const { id, type, subject, data } = event.data;
  requireText(id, 'id', limits.name);
  requireText(type, 'type', limits.name);
  requireJson(data as Json | undefined, 'data', limits.eventData);
  return { id, type, subject, data: data as Json | undefined };
}

function isProved(source: EventSource | undefined, received: ReceivedEvent, now: Date): boolean {
  const { token, webhook, body } = received;
  if (source?.kind === 'standard_webhooks') return isSigned(source.secret, webhook, body, now);
  // An unknown source takes as long as a wrong token.
  const right = isSame(token ?? '', source?.token ?? '');
  return source !== undefined && token !== undefined && right;
}

/**
 * Verifies a symmetric signature of Standard Webhooks: HMAC-SHA256 of id, time and body. There may be several signatures while a secret is
 * replaced.
 */
function isSigned(secret: Uint8Array, webhook: ReceivedEvent['webhook'], body: string, now: Date): boolean {
  if (webhook === undefined || !/^\d{1,12}$/.test(webhook.timestamp) || !/^[\x21-\x7e]{1,200}$/.test(webhook.id)) {
    return false;
  }
  if (Math.abs(now.getTime() - Number(webhook.timestamp) * 1000) > tolerance) return false;
  const right = createHmac('sha256', secret).update(`${webhook.id}.${webhook.timestamp}.${body}`).digest('base64');
  const given = webhook.signature.split(' ').slice(0, 10);
  return given.filter((signature) => isSame(signature, `v1,${right}`)).length > 0;
}

/** Compares two texts in a time that depends neither on where they differ nor on whether their lengths differ. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
