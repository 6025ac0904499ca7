import { createHash } from 'node:crypto';
import { Terminal } from '../errors.js';
import { type Link, linksOf } from '../links.js';
import type { Message } from '../notifications.js';
import { type EmailConfig, isMailbox } from './config.js';

/** A line break in a mail header starts another header (RFC 5322, 2.2). */
const headerBreak = /[\p{Cc}\p{Zl}\p{Zp}]/u;
const longestSubject = 250;

/**
 * Returns a mail to one recipient. The same idempotency key gives the same `Message-ID`, so a repeat can be recognized.
 * Buttons for decisions are left out. Throws `Terminal` for a recipient that is not one address, a title with control
 * characters, or a link that is not a web address.
 */
export function composeMail(config: EmailConfig, message: Message, date: Date) {
  const { to, title, idempotencyKey } = message;
  if (!isMailbox(to)) throw new Terminal('The recipient of a message must be one e-mail address');
  if (headerBreak.test(title)) throw new Terminal('The title of a message must be one line without control characters');
  const links = linksOf(message);
  return {
    envelope: { from: config.from, to: [to] },
    from: { name: config.from_name, address: config.from },
    to: { name: '', address: to },
    subject: cut(title),
    messageId: messageIdOf(config, idempotencyKey),
    date,
    // These prevent automatic replies: RFC 3834, section 5, and Exchange's own header.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    text: composeText(message, links),
    html: composeHtml(message, links),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function messageIdOf({ from }: EmailConfig, key: string): string {
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return `<${createHash('sha256').update(key).digest('hex').slice(0, 40)}@${domain}>`;
}

/**
 * Returns the plain text of a mail. Text from people is quoted, and further lines of a fact are indented: otherwise a reason with
 * line breaks could imitate a fact or a link of Belay.
 */
function composeText({ text, facts }: Message, links: readonly Link[]): string {
  const quoted = linesOf(text).map((line) => `> ${line}`);
  const listed = facts.map(({ name, value }) => `${name}: ${linesOf(value).join('\n    ')}`);
  const led = links.map(({ label, url }) => `${label}:\n${url}`);
  return `${[quoted.join('\n'), listed.join('\n'), ...led].filter((part) => part !== '').join('\n\n')}\n`;
}

function composeHtml({ title, text, facts }: Message, links: readonly Link[]): string {
  const rows = facts.map(
    ({ name, value }) =>
      `<tr><th align="left" valign="top">${escapeHtml(name)}</th><td>${linesOf(value).map(escapeHtml).join('<br>')}</td></tr>`,
  );
  const led = links.map(({ label, url }) => `<p><a href="${escapeHtml(url)}">${escapeHtml(label)}</a></p>`);
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<title>${escapeHtml(title)}</title></head><body>`,
    `<blockquote>${linesOf(text).map(escapeHtml).join('<br>')}</blockquote>`,
    rows.length > 0 ? `<table cellpadding="4">${rows.join('')}</table>` : '',
    ...led,
    '</body></html>\n',
  ].join('');
}

function linesOf(text: string): string[] {
  return text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function cut(title: string): string {
  const signs = Array.from(title);
  return signs.length > longestSubject ? `${signs.slice(0, longestSubject - 1).join('')}…` : title;
}
