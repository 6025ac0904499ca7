import type { VNode } from 'preact';

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

const statuses: Readonly<Record<string, { text: string; tone: Tone }>> = {
  pending: { text: 'Starting', tone: 'plain' },
  running: { text: 'Running', tone: 'plain' },
  waiting: { text: 'Waiting', tone: 'warn' },
  suspended: { text: 'Suspended', tone: 'warn' },
  completed: { text: 'Completed', tone: 'plain' },
  faulted: { text: 'Failed', tone: 'bad' },
  cancelled: { text: 'Cancelled', tone: 'plain' },
  terminated: { text: 'Terminated', tone: 'bad' },
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

/** A status in a word; the word says it all, the colour only helps. */
export function Badge({ status }: { status: string }): VNode {
  const { text, tone } = statuses[status] ?? { text: status, tone: 'plain' };
  return <span class={`badge ${tone}`}>{text}</span>;
}
