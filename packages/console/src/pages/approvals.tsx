import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { AccessWords, afterwardsInWords, ProviderLink } from './parts/access.js';
import { Facts } from './parts/facts.js';
import { isUnsent, PostForm, sent } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, to, type View } from './view.js';
import { durationInWords } from './words.js';

export type InboxItem = Outputs['approvals']['inbox']['approvals'][number];

/** Renders exactly what a request would grant. */
export function Request({ item, view }: { item: InboxItem; view: View }): VNode {
  return (
    <>
      <p class="hidden-text">{texts.approvals.reason}</p>
      <blockquote>{item.reason === '' ? texts.approvals.noReasonWasGiven : item.reason}</blockquote>
      <Facts
        facts={[
          [texts.approvals.requester, requesterInWords(item)],
          [
            texts.approvals.wouldGrant,
            <ul>
              {item.grants.map(({ provider, identity, access, residual, leaves_behind, native_expiry, target }) => (
                <li key={`${provider} ${identity} ${JSON.stringify(access)}`} class="sentence">
                  <AccessWords access={access} />
                  {texts.approvals.at}
                  <ProviderLink id={provider} view={view} />
                  {texts.approvals.to} <code>{identity}</code>
                  <br />
                  <span class="quiet">
                    {afterwardsInWords({ residual, leaves_behind })}
                    {native_expiry !== null && ` ${texts.accessPart.endsItself}`}
                  </span>
                  {target !== null && (
                    <span class="quiet">
                      {' '}
                      {texts.approvals.onlyTarget}
                      <code>{target}</code>.
                    </span>
                  )}
                </li>
              ))}
            </ul>,
          ],
          [texts.approvals.duration, durationInWords(item.duration)],
          item.extends !== null && [
            texts.execution.extends,
            <a href={to(view, 'execution', item.extends)}>{texts.execution.earlierRequest}</a>,
          ],
          [texts.approvals.requested, <When at={item.created_at} view={view} />],
          [texts.approvals.decideBy, <When at={item.expires_at} view={view} />],
          item.because !== null && [texts.approvals.reopened, `${item.because}.`],
          item.stages > 1 && [texts.approvals.stage, texts.approvals.progress(item.stage, item.stages)],
          item.count > 1 && [texts.approvals.approvals, texts.approvals.progress(item.decisions, item.count)],
          [
            texts.approvals.request,
            <a href={to(view, 'execution', item.execution_id)}>{texts.approvals.viewRequest}</a>,
          ],
        ]}
      />
    </>
  );
}

/**
 * Renders the form to approve or deny, with a comment. It sends the digest of what was shown. `next`: the approval that the inbox shows
 * afterwards; empty for the first one.
 */
export function DecideForm({ item, view, next }: { item: InboxItem; view: View; next?: string }): VNode {
  const remark = `remark-${item.id}`;
  const action = to(view, 'approvals', item.id, 'decision');
  return (
    <PostForm action={action} view={view} keeps>
      <input type="hidden" name="request_digest" value={item.request_digest} />
      {next !== undefined && <input type="hidden" name="next" value={next === '' ? 'inbox' : next} />}
      <div class="field">
        <label for={remark}>
          {texts.approvals.comment}
          <span class="quiet">
            {texts.approvals.optional}
            {item.requester.name}
            {texts.approvals.canReadIt}
          </span>
        </label>
        <input
          id={remark}
          type="text"
          name="comment"
          value={isUnsent(view, action) ? sent(view, 'comment') : undefined}
          maxLength={limits.remark}
          autocomplete="off"
        />
      </div>
      <div class="actions">
        <button type="submit" name="verdict" value="approve" id={`approve-${item.id}`} aria-description={titleOf(item)}>
          {next === undefined ? texts.approvals.approve : texts.inbox.approveAndNext}
        </button>
        <button
          type="submit"
          name="verdict"
          value="deny"
          class="danger"
          id={`deny-${item.id}`}
          aria-description={titleOf(item)}
        >
          {next === undefined ? texts.approvals.deny : texts.inbox.denyAndNext}
        </button>
      </div>
    </PostForm>
  );
}

/** Returns the name and the address of the requester, or only the address when they are the same. */
function requesterInWords({ requester: { name, email } }: InboxItem): string {
  return name === email ? email : `${name} (${email})`;
}

/** Returns the title of a request that waits for a decision. */
export function titleOf(item: InboxItem): string {
  return texts.approvals.requests(item.requester.name, item.role);
}
