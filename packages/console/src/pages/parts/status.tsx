import type { VNode } from 'preact';
import { texts } from '../../texts.js';
import { Icon } from './icon.js';

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

type Words = Readonly<Record<string, { text: string; tone: Tone }>>;

/** The states of a request. */
const states: Words = {
  running: { text: texts.statusPart.running, tone: 'plain' },
  waiting_for_approval: { text: texts.statusPart.waitingForApproval, tone: 'warn' },
  granting: { text: texts.statusPart.beingGranted, tone: 'warn' },
  active: { text: texts.statusPart.active, tone: 'good' },
  ending: { text: texts.statusPart.beingRevoked, tone: 'warn' },
  ended: { text: texts.statusPart.ended, tone: 'plain' },
  denied: { text: texts.statusPart.denied, tone: 'bad' },
  cancelled: { text: texts.statusPart.cancelled, tone: 'plain' },
  terminated: { text: texts.statusPart.terminated, tone: 'bad' },
  failed: { text: texts.statusPart.failed, tone: 'bad' },
};

/** The states of a grant, an approval or an event. */
const statuses: Words = {
  granting: { text: texts.statusPart.beingGranted, tone: 'warn' },
  active: { text: texts.statusPart.active, tone: 'good' },
  ended: { text: texts.statusPart.beingRevoked, tone: 'warn' },
  gone: { text: texts.statusPart.removed, tone: 'plain' },
  failed: { text: texts.statusPart.failed, tone: 'bad' },
  open: { text: texts.statusPart.open, tone: 'warn' },
  approved: { text: texts.statusPart.approved, tone: 'good' },
  denied: { text: texts.statusPart.denied, tone: 'bad' },
  expired: { text: texts.statusPart.expired, tone: 'bad' },
  withdrawn: { text: texts.statusPart.withdrawn, tone: 'plain' },
  info: { text: 'info', tone: 'plain' },
  warning: { text: 'warning', tone: 'warn' },
  error: { text: 'error', tone: 'bad' },
};

/** Renders the state of a request as a badge. */
export function StateBadge({ state }: { state: string }): VNode {
  return <Badge status={state} words={states} />;
}

/** Renders the mark of a role for emergencies, and of its requests and access. */
export function EmergencyMark(): VNode {
  return (
    <span class="badge alarm">
      <Icon name="siren" />
      {texts.statusPart.emergency}
    </span>
  );
}

/** Renders what the use of a role for emergencies means, where people request it. */
export function EmergencyNotice({ text }: { text: string }): VNode {
  return (
    <p class="notice alarm">
      <Icon name="siren" />
      <span>{text}</span>
    </p>
  );
}

/** Renders a status as a word. The colour has no additional meaning. */
export function Badge({ status, words = statuses }: { status: string; words?: Words }): VNode {
  const { text, tone } = words[status] ?? { text: status, tone: 'plain' };
  return <span class={`badge ${tone}`}>{text}</span>;
}
