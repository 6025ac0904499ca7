import type { VNode } from 'preact';

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

type Words = Readonly<Record<string, { text: string; tone: Tone }>>;

/** Of a request. */
const states: Words = {
  running: { text: 'Under way', tone: 'plain' },
  waiting_for_approval: { text: 'Waiting for approval', tone: 'warn' },
  granting: { text: 'Being granted', tone: 'warn' },
  active: { text: 'Active', tone: 'good' },
  ending: { text: 'Being taken away', tone: 'warn' },
  ended: { text: 'Ended', tone: 'plain' },
  denied: { text: 'Denied', tone: 'bad' },
  cancelled: { text: 'Cancelled', tone: 'plain' },
  terminated: { text: 'Terminated', tone: 'bad' },
  failed: { text: 'Failed', tone: 'bad' },
};

/** Of a grant, an approval or an entry of the log. */
const statuses: Words = {
  granting: { text: 'Being granted', tone: 'warn' },
  active: { text: 'Active', tone: 'good' },
  ended: { text: 'Being taken away', tone: 'warn' },
  gone: { text: 'Gone', tone: 'plain' },
  failed: { text: 'Failed', tone: 'bad' },
  open: { text: 'Open', tone: 'warn' },
  approved: { text: 'Approved', tone: 'good' },
  denied: { text: 'Denied', tone: 'bad' },
  expired: { text: 'No answer in time', tone: 'bad' },
  withdrawn: { text: 'Withdrawn', tone: 'plain' },
  info: { text: 'info', tone: 'plain' },
  warning: { text: 'warning', tone: 'warn' },
  error: { text: 'error', tone: 'bad' },
};

/** Where a request stands, as a badge. */
export function StateBadge({ state }: { state: string }): VNode {
  return <Badge status={state} words={states} />;
}

/** A status in a word; the word says it all, the colour only helps. */
export function Badge({ status, words = statuses }: { status: string; words?: Words }): VNode {
  const { text, tone } = words[status] ?? { text: status, tone: 'plain' };
  return <span class={`badge ${tone}`}>{text}</span>;
}
