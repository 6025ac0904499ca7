import type { VNode } from 'preact';
import { AccessWords, afterwardsInWords, ProviderLink } from './parts/access.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { durationInWords } from './words.js';

export type InboxItem = Outputs['approvals']['inbox']['approvals'][number];

/** What waits for the viewer's decision. */
export function inboxPage({ approvals }: Outputs['approvals']['inbox'], view: View): Page {
  return {
    title: 'Inbox',
    live: { every: 5 },
    content: (
      <>
        <p class="lead">
          Requests of others that wait for your decision. You see exactly what would be granted; if a request becomes
          another one meanwhile, your decision about this one does not count.
        </p>
        <div id="inbox" data-region>
          <p class="hidden-text" data-say>
            {approvals.length === 0 ? 'The inbox is empty' : `The inbox has ${approvals.length}`}
          </p>
          {approvals.length === 0 ? (
            <div class="empty">
              <p>Nothing waits for your decision.</p>
            </div>
          ) : (
            <ul class="cards">
              {approvals.map((item) => (
                <li key={item.id} class="card">
                  <h2 id={`item-${item.id}`}>{titleOf(item)}</h2>
                  <Request item={item} view={view} />
                  <DecideForm item={item} view={view} />
                </li>
              ))}
            </ul>
          )}
        </div>
      </>
    ),
  };
}

/** Exactly what somebody asks for. */
export function Request({ item, view }: { item: InboxItem; view: View }): VNode {
  return (
    <>
      <p class="hidden-text">Reason:</p>
      <blockquote>{item.reason === '' ? 'No reason was given.' : item.reason}</blockquote>
      <Facts
        facts={[
          ['Asked by', requesterInWords(item)],
          [
            'Would grant',
            <ul>
              {item.grants.map(({ provider, identity, access, residual, leaves_behind }) => (
                <li key={`${provider} ${identity} ${JSON.stringify(access)}`} class="sentence">
                  <AccessWords access={access} /> at <ProviderLink id={provider} view={view} /> to{' '}
                  <code>{identity}</code>
                  <br />
                  <span class="quiet">{afterwardsInWords({ residual, leaves_behind })}</span>
                </li>
              ))}
            </ul>,
          ],
          ['For', durationInWords(item.duration)],
          ['Asked at', <When at={item.created_at} view={view} />],
          ['Decide by', <When at={item.expires_at} view={view} />],
          item.count > 1 && ['Approvals', `${item.decisions} of ${item.count}`],
          ['Request', <a href={to(view, 'execution', item.execution_id)}>See all of it</a>],
        ]}
      />
    </>
  );
}

/** Approve or deny, with a remark; what was shown goes back with it. */
export function DecideForm({ item, view }: { item: InboxItem; view: View }): VNode {
  const remark = `remark-${item.id}`;
  return (
    <PostForm action={to(view, 'approvals', item.id, 'decision')} view={view}>
      <input type="hidden" name="request_digest" value={item.request_digest} />
      <div class="field">
        <label for={remark}>
          Remark <span class="quiet">(optional; {item.requester.name} can read it)</span>
        </label>
        <input id={remark} type="text" name="comment" maxLength={2000} autocomplete="off" />
      </div>
      <div class="actions">
        <button type="submit" name="verdict" value="approve" id={`approve-${item.id}`} aria-description={titleOf(item)}>
          Approve
        </button>
        <button
          type="submit"
          name="verdict"
          value="deny"
          class="danger"
          id={`deny-${item.id}`}
          aria-description={titleOf(item)}
        >
          Deny
        </button>
      </div>
    </PostForm>
  );
}

/** Whoever has no other name is called by the address, once. */
function requesterInWords({ requester: { name, email } }: InboxItem): string {
  return name === email ? email : `${name} (${email})`;
}

function titleOf(item: InboxItem): string {
  return `${item.requester.name} asks for ${item.role}`;
}
