import { createHash, createHmac } from 'node:crypto';
import { toOneLine } from '@belay/contract/text';
import { type Link, linksOf } from '../links.js';
import type { Fact, Message } from '../notifications.js';
import { readSecret, type WebhookConfig } from './config.js';

/** What is posted: the bytes that are signed, and the headers. */
export interface Post {
  id: string;
  text: { type: string; body: string };
  headers: Record<string, string>;
}

/** Teams accepts 28 KB for a card. */
const longestText = 4_000;
const longestFact = 1_000;

/**
 * Returns the request for a message. The same idempotency key gives the same `webhook-id` and the same body. Buttons that decide are
 * left out. Throws `Terminal` for a link that is not a web address.
 */
export function composePost(config: WebhookConfig, message: Message, now: Date): Post {
  const id = `msg_${createHash('sha256').update(message.idempotencyKey).digest('hex').slice(0, 40)}`;
  const links = linksOf(message);
  if (config.format === 'teams') {
    const text = { type: 'application/json', body: JSON.stringify(composeCard(message, links)) };
    return { id, text, headers: { 'webhook-id': id } };
  }
  const event = composeEvent(config, message, { id, links });
  const text = { type: 'application/cloudevents+json; charset=utf-8', body: JSON.stringify(event) };
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const signatures = (config.secrets ?? []).map((secret) => sign(secret, `${id}.${timestamp}.${text.body}`));
  return {
    id,
    text,
    headers: { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') },
  };
}

/** Returns a signature (Standard Webhooks, "Signature scheme"). Every secret signs, so that the receiver can verify with either. */
function sign(secret: string, content: string): string {
  return `v1,${createHmac('sha256', readSecret(secret)).update(content).digest('base64')}`;
}

/** Returns the CloudEvent (1.0.2). It has no `time`, so that a repeat has the same body; `webhook-timestamp` is when it was sent. */
function composeEvent({ source }: WebhookConfig, message: Message, { id, links }: { id: string; links: Link[] }) {
  const { kind = 'message', to, title, text, facts } = message;
  return {
    specversion: '1.0',
    id,
    source,
    type: `belay.${kind}`,
    datacontenttype: 'application/json',
    data: { to, title, text, facts, links },
  };
}

/** Returns the Adaptive Card (1.4). It uses only `RichTextBlock`, because `TextBlock` and `FactSet` would read texts as Markdown. */
function composeCard({ title, text, facts }: Message, links: readonly Link[]) {
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      block([{ text: cut(title, 250), weight: 'Bolder', size: 'Medium' }]),
      block([{ text: cut(text, longestText) }]),
      ...facts.map((fact) => block(runsOf(fact))),
    ],
    actions: links.map(({ label, url }) => ({ type: 'Action.OpenUrl', title: label, url })),
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
  };
}

function runsOf({ name, value }: Fact) {
  // A line break in a value could imitate a fact of ours.
  return [{ text: `${name}: `, weight: 'Bolder' }, { text: cut(toOneLine(value), longestFact) }];
}

function block(runs: readonly { text: string; weight?: string; size?: string }[]) {
  return { type: 'RichTextBlock', inlines: runs.map((run) => ({ type: 'TextRun', ...run })) };
}

function cut(text: string, most: number): string {
  const signs = Array.from(text);
  return signs.length > most ? `${signs.slice(0, most - 1).join('')}…` : text;
}
