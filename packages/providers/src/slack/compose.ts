import { Terminal } from '../errors.js';
import type { Action, Message } from '../notifications.js';

/** The longest texts, in characters after escaping: Slack's limits, and a lower one for `fallback`. */
const longest = { header: 150, section: 3_000, field: 2_000, button: 75, fallback: 3_000 };
/** A section has at most ten fields, two for each fact. */
const factsInSection = 5;
const mostFacts = 50;

type Block = Record<string, unknown> & { type: string };
type Link = Extract<Action, { kind: 'link' }>;
type Button = Extract<Action, { kind: 'decision' }>;

/** The `action_id` of each verdict's button, which a click contains. */
export const actionId = { approve: 'belay:approve', deny: 'belay:deny' } as const;

/**
 * Returns a message as Slack shows it. Texts of people are escaped plain text, each in a field of its own: they cannot
 * mention people, contain links, or imitate a fact. Throws `Terminal` for a link that is not a web address.
 */
export function composeSlackMessage({ title, text, facts, actions }: Message): { text: string; blocks: Block[] } {
  const links = actions.filter((action): action is Link => action.kind === 'link');
  const buttons = actions.filter((action): action is Button => action.kind === 'decision');
  const shown = facts.slice(0, mostFacts);
  const sections = Array.from({ length: Math.ceil(shown.length / factsInSection) }, (_, index) =>
    shown.slice(index * factsInSection, (index + 1) * factsInSection),
  );
  return {
    // Notifications and screen readers use this text instead of the blocks.
    text: escapeTo(`${title}\n${text}`, longest.fallback),
    blocks: [
      { type: 'header', text: plain(title, longest.header) },
      ...(text.trim() === '' ? [] : [{ type: 'section', text: plain(text, longest.section) }]),
      ...sections.map((some) => ({
        type: 'section',
        fields: some.flatMap(({ name, value }) => [plain(name, longest.field), plain(value, longest.field)]),
      })),
      ...links.map((link) => ({ type: 'section', text: { type: 'mrkdwn', text: linkTo(link), verbatim: true } })),
      ...(buttons.length === 0 ? [] : [{ type: 'actions', elements: buttons.map(composeButton) }]),
    ],
  };
}

/** Escapes the characters that have a meaning for Slack. */
export function escapeSlack(text: string): string {
  return escapeTo(text, Number.POSITIVE_INFINITY);
}

function composeButton({ label, verdict, token }: Button): Block {
  return {
    type: 'button',
    text: plain(label, longest.button),
    action_id: actionId[verdict],
    value: token,
    style: verdict === 'approve' ? 'primary' : 'danger',
  };
}

/** Returns a plain text. Slack rejects a blank text, so a dash replaces it. */
function plain(text: string, most: number): Block {
  return { type: 'plain_text', text: escapeTo(text.trim() === '' ? '–' : text, most), emoji: false };
}

/** Returns a link as text, because a button with a link would require an app that receives clicks. */
function linkTo({ label, url }: Link): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'https:' && parsed?.protocol !== 'http:')
    throw new Terminal('A link in a message must be a web address');
  const address = escapeSlack(parsed.href.replaceAll('|', '%7C'));
  return `<${address}|${escapeTo(label.replaceAll('|', ' '), longest.button)}>`;
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Characters that change the direction of the text around them, and control characters other than tab and line feed. */
const unseen = /[\u202a-\u202e\u2066-\u2069]|(?![\t\n])\p{Cc}/u;

/** Escapes a text and shortens it to `most` characters, without splitting a character or an entity. */
function escapeTo(text: string, most: number): string {
  let made = '';
  // The length at which the text is cut if the rest does not fit.
  let fitting = 0;
  for (const sign of text) {
    if (unseen.test(sign)) continue;
    made += entities[sign] ?? sign;
    if (made.length < most) fitting = made.length;
    else if (made.length > most) return `${made.slice(0, fitting)}…`;
  }
  return made;
}
