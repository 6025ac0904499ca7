import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { approversInWords, type Execution, endReasonInWords } from './execution-state.js';
import { When } from './parts/time.js';
import { readable } from './readable.js';
import type { View } from './view.js';
import { durationInWords, listInWords } from './words.js';

type Entry = Execution['history'][number];

/** One event, in words for people. */
interface Told {
  at: string;
  text: string;
  tone?: 'good' | 'warn' | 'bad';
  /** The text that a person wrote. */
  quote?: string | undefined;
}

/** Describes an entry of the history; undefined for an entry about Belay's own work. */
type Tell = (entry: Entry, execution: Execution, nth: number) => Omit<Told, 'at'> | undefined;

const asItIs: Tell = ({ message }) => ({ text: readable(message) });

const tellings: Readonly<Record<string, Tell>> = {
  'elevation.requested': (_entry, { user, role, providers, duration, reason, extends: earlier }) => ({
    text: (earlier === null ? texts.timeline.requested : texts.timeline.requestedLonger)(
      user,
      role,
      listInWords(providers),
      durationInWords(duration),
    ),
    quote: reason,
  }),
  'approval.opened': (_entry, { approvals }, nth) => {
    const approval = approvals[nth];
    return approval && { text: texts.timeline.waits(approversInWords(approval)), tone: 'warn' };
  },
  'approval.decided': ({ message }, { decided_by }, nth) => {
    const made = decided_by[nth];
    if (made === undefined) return { text: readable(message) };
    const approved = made.verdict === 'approve';
    return {
      text: (approved ? texts.timeline.approved : texts.timeline.denied)(made.approver),
      tone: approved ? 'good' : 'bad',
      quote: made.comment ?? undefined,
    };
  },
  'approval.expired': () => ({ text: texts.executionState.noApproverDecidedInTime, tone: 'bad' }),
  'entitlement.granted': (entry, execution, nth) => ({
    ...asItIs(entry, execution, nth),
    text: readable(entry.message),
    tone: 'good',
  }),
  'entitlement.grant_failed': ({ message }) => ({ text: readable(message), tone: 'bad' }),
  'entitlement.revoke_failed': ({ message }) => ({ text: readable(message), tone: 'bad' }),
  'entitlement.revoked': asItIs,
  'grant.ended': ({ message }) => ({
    text: texts.timeline.endedEarly(endReasonInWords(/: (\w+)$/.exec(message)?.[1] ?? '')),
    tone: 'warn',
  }),
  'access.revoked': ({ message }) => ({ text: readable(message), tone: 'bad' }),
  'restore.missing': ({ message }) => ({ text: readable(message), tone: 'bad' }),
  'run.lapsed': ({ message }) => ({ text: readable(message), tone: 'warn' }),
  'grant.expired': () => ({ text: texts.timeline.timeOver, tone: 'warn' }),
  'execution.cancel_requested': ({ message }) => ({ text: readable(message), tone: 'warn' }),
  'execution.terminated': ({ message }) => ({ text: readable(message), tone: 'bad' }),
  'review.opened': ({ message }) => ({ text: readable(message), tone: 'warn' }),
  'review.closed': asItIs,
  'comment.added': asItIs,
  'comment.question': asItIs,
  'comment.answer': asItIs,
};

/** Returns the events of a request in words for people, oldest first. Entries about Belay's own work are left out. */
function storyOf(execution: Execution): Told[] {
  const seen = new Map<string, number>();
  return execution.history.flatMap((entry): Told[] => {
    const type = entry.event_type;
    const nth = seen.get(type) ?? 0;
    seen.set(type, nth + 1);
    const told = Object.hasOwn(tellings, type) ? tellings[type]?.(entry, execution, nth) : undefined;
    return told === undefined ? [] : [{ ...told, at: entry.timestamp }];
  });
}

/** Renders the events of a request, with all technical events folded below them. */
export function Timeline({ execution, view }: { execution: Execution; view: View }): VNode {
  const { history, next, workflow_id } = execution;
  return (
    <>
      <ol class="timeline">
        {storyOf(execution).map((told, index) => (
          <li key={`${index} ${told.at}`} class={told.tone}>
            <p>{told.text}</p>
            {told.quote !== undefined && told.quote !== '' && <blockquote>{told.quote}</blockquote>}
            <p class="quiet">
              <When at={told.at} view={view} />
            </p>
          </li>
        ))}
      </ol>
      <details id="steps">
        <summary>{texts.timeline.technical(history.length)}</summary>
        <ol class="events">
          {history.map((entry, index) => (
            <li key={`${index} ${entry.timestamp}`}>
              <code>{entry.event_type}</code> {readable(entry.message)}{' '}
              <span class="quiet">
                <When at={entry.timestamp} view={view} />
              </span>
            </li>
          ))}
        </ol>
        {next !== null && (
          <p>
            <a href={`${at('requests', workflow_id)}?${new URLSearchParams({ cursor: next })}`}>
              {texts.timeline.olderEvents}
            </a>
          </p>
        )}
      </details>
    </>
  );
}
