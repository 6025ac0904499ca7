import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { Close, Dialog } from './parts/dialog.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { addressWith, Empty, Paging, Tabs } from './parts/list.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { listInWords } from './words.js';

export type Review = Outputs['reviews']['list']['reviews'][number];

const tabs = ['open', 'overdue', 'closed'] as const;

/** Renders the reviews of emergency access, with the form that closes one for people who may close it. */
export function reviewsPage({ reviews, next }: Outputs['reviews']['list'], view: View): Page {
  const { execution_id: execution, cursor } = view.input;
  const one = typeof execution === 'string' ? execution : undefined;
  const shown = tabs.find((tab) => tab === view.input.status) ?? (one === undefined ? 'open' : 'all');
  const filters = { status: shown === 'open' || shown === 'all' ? undefined : shown, execution_id: one };
  return {
    title: texts.reviews.title,
    lead: texts.reviews.lead,
    content: (
      <>
        <Tabs
          label={texts.reviews.lists}
          tabs={tabs.map((tab) => ({
            href: addressWith(at('reviews'), { status: tab === 'open' ? undefined : tab }),
            text: texts.reviews.tabs[tab],
            current: tab === shown,
          }))}
        />
        {reviews.length === 0 && <Empty icon="circle-check" title={texts.reviews.none[shown]} />}
        <ul class="cards">
          {reviews.map((review) => (
            <li key={review.id} class="card">
              <ReviewCard review={review} view={view} />
            </li>
          ))}
        </ul>
        <Paging
          newer={cursor === undefined ? undefined : addressWith(at('reviews'), filters)}
          older={next === null ? undefined : addressWith(at('reviews'), { ...filters, cursor: next })}
        />
      </>
    ),
  };
}

function ReviewCard({ review, view }: { review: Review; view: View }): VNode {
  const { users, groups } = review.reviewers;
  return (
    <>
      <div class="card-head">
        <h2>{texts.reviews.use(review.role, review.requester.name)}</h2>
        <ReviewBadge review={review} />
      </div>
      <Facts
        facts={[
          [texts.reviews.systems, listInWords(review.providers)],
          [texts.reviews.reason, review.reason],
          review.active_from !== null && [texts.reviews.active, <When at={review.active_from} view={view} />],
          review.active_until !== null && [texts.reviews.until, <When at={review.active_until} view={view} />],
          review.extensions > 0 && [texts.reviews.extended, texts.reviews.times(review.extensions)],
          [texts.reviews.reviewers, listInWords([...users, ...groups])],
          review.closed_at === null && [texts.reviews.due, <When at={review.due_at} view={view} />],
          review.closed_at !== null && [
            texts.reviews.closed,
            <>
              {texts.reviews.by(review.closed_by?.name ?? '')}
              <When at={review.closed_at} view={view} />
            </>,
          ],
          review.note !== null && [texts.reviews.note, <span class="remark">{review.note}</span>],
          [texts.reviews.request, <a href={at('requests', review.execution_id)}>{texts.reviews.openRequest}</a>],
        ]}
      />
      {review.may_close && <CloseForm review={review} view={view} />}
    </>
  );
}

/** Renders the verdict of a review, or that it is open. */
export function ReviewBadge({ review: { verdict, overdue } }: { review: Review }): VNode {
  if (verdict !== null)
    return <span class={`badge ${verdict === 'justified' ? 'good' : 'bad'}`}>{texts.reviews.verdicts[verdict]}</span>;
  return (
    <span class={`badge ${overdue ? 'bad' : 'warn'}`}>{overdue ? texts.reviews.overdue : texts.reviews.open}</span>
  );
}

function CloseForm({ review, view }: { review: Review; view: View }): VNode {
  const id = `close-${review.id}`;
  return (
    <div class="actions">
      <Dialog
        id={id}
        class="second small"
        title={texts.reviews.closeTitle}
        opens={
          <>
            {texts.reviews.close}
            <span class="hidden-text">: {texts.reviews.use(review.role, review.requester.name)}</span>
          </>
        }
      >
        <PostForm action={to(view, 'reviews', review.id, 'close')} view={view}>
          <p>{texts.reviews.use(review.role, review.requester.name)}</p>
          <div class="field">
            <label for={`${id}-note`}>{texts.reviews.noteLabel}</label>
            <textarea id={`${id}-note`} name="note" required maxLength={limits.remark} rows={3} />
          </div>
          <div class="actions">
            <button type="submit" name="verdict" value="justified">
              {texts.reviews.verdicts.justified}
            </button>
            <button type="submit" name="verdict" value="not_justified" class="danger">
              {texts.reviews.verdicts.not_justified}
            </button>
            <Close dialog={id} />
          </div>
        </PostForm>
      </Dialog>
    </div>
  );
}
