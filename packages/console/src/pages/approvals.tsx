import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { AccessWords, afterwardsInWords, ProviderLink } from './parts/access.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { durationInWords } from './words.js';

export type InboxItem = Outputs['approvals']['inbox']['approvals'][number];

/** How many requests of one person are shown unfolded. */
const few = 3;

/** Renders the requests that wait for the viewer's decision, by requester. */
export function inboxPage(output: Outputs['approvals']['inbox'], view: View): Page {
  const { approvals, total } = output;
  return {
    title: texts.approvals.inbox,
    live: { every: 5 },
    content: (
      <>
        <p class="lead">{texts.approvals.lead}</p>
        <div id="inbox" data-region>
          <p class="hidden-text" data-say>
            {total === 0 ? texts.approvals.announceNone : texts.approvals.announceCount(total)}
          </p>
          {approvals.length === 0 && (
            <div class="empty">
              <p>{texts.approvals.empty}</p>
            </div>
          )}
          {groupByRequester(approvals).map((items) => (
            <Requester key={items[0]?.id} items={items} output={output} view={view} />
          ))}
          {output.next !== null && (
            <p>
              <a href={inboxAddress(view, { ...view.input, cursor: output.next })}>{texts.approvals.moreRequests}</a>
            </p>
          )}
        </div>
      </>
    ),
  };
}

function groupByRequester(approvals: InboxItem[]): InboxItem[][] {
  const groups = new Map<string, InboxItem[]>();
  for (const item of approvals) {
    const group = groups.get(item.requester.email) ?? [];
    groups.set(item.requester.email, [...group, item]);
  }
  return [...groups.values()];
}

/** Renders the requests of one person: the oldest few, and the rest folded, so that they do not hide other people's requests. */
function Requester(props: { items: InboxItem[]; output: Outputs['approvals']['inbox']; view: View }): VNode {
  const { items, output, view } = props;
  const { email = '', name = '' } = items[0]?.requester ?? {};
  const waiting = output.requesters.find((requester) => requester.email === email)?.waiting ?? items.length;
  const folded = items.slice(few);
  const alone = view.input.requester !== undefined;
  const all = waiting > items.length && (
    <p>
      <a href={inboxAddress(view, { requester: email })}>
        {texts.approvals.all}
        {waiting}
        {texts.approvals.from}
        {name}
      </a>
    </p>
  );
  return (
    <>
      <Cards items={alone ? items : items.slice(0, few)} view={view} />
      {!alone && folded.length > 0 && (
        <details id={`more-${email}`}>
          <summary>
            {waiting - few}
            {texts.approvals.moreFrom}
            {name}
          </summary>
          <Cards items={folded} view={view} />
          {all}
        </details>
      )}
      {!alone && folded.length === 0 && all}
    </>
  );
}

function Cards({ items, view }: { items: InboxItem[]; view: View }): VNode {
  return (
    <ul class="cards">
      {items.map((item) => (
        <li key={item.id} class="card">
          <h2 id={`item-${item.id}`}>{titleOf(item)}</h2>
          <Request item={item} view={view} />
          <DecideForm item={item} view={view} />
        </li>
      ))}
    </ul>
  );
}

function inboxAddress(view: View, input: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(input).map(([name, value]) => [name, String(value)]);
  return `${to(view, 'approvals')}?${new URLSearchParams(fields).toString()}`;
}

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
          [texts.approvals.requested, <When at={item.created_at} view={view} />],
          [texts.approvals.decideBy, <When at={item.expires_at} view={view} />],
          item.because !== null && [texts.approvals.reopened, `${item.because}.`],
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

/** Renders the form to approve or deny, with a comment; it sends the digest of what was shown. */
export function DecideForm({ item, view }: { item: InboxItem; view: View }): VNode {
  const remark = `remark-${item.id}`;
  return (
    <PostForm action={to(view, 'approvals', item.id, 'decision')} view={view}>
      <input type="hidden" name="request_digest" value={item.request_digest} />
      <div class="field">
        <label for={remark}>
          {texts.approvals.comment}
          <span class="quiet">
            {texts.approvals.optional}
            {item.requester.name}
            {texts.approvals.canReadIt}
          </span>
        </label>
        <input id={remark} type="text" name="comment" maxLength={limits.remark} autocomplete="off" />
      </div>
      <div class="actions">
        <button type="submit" name="verdict" value="approve" id={`approve-${item.id}`} aria-description={titleOf(item)}>
          {texts.approvals.approve}
        </button>
        <button
          type="submit"
          name="verdict"
          value="deny"
          class="danger"
          id={`deny-${item.id}`}
          aria-description={titleOf(item)}
        >
          {texts.approvals.deny}
        </button>
      </div>
    </PostForm>
  );
}

/** Returns name and address of the requester; the address once when there is no other name. */
function requesterInWords({ requester: { name, email } }: InboxItem): string {
  return name === email ? email : `${name} (${email})`;
}

function titleOf(item: InboxItem): string {
  return texts.approvals.requests(item.requester.name, item.role);
}
