import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { AccessWords, afterwardsInWords, ProviderLink } from './parts/access.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { Badge } from './parts/status.js';
import { TimeLeft, When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';

type Held = Outputs['access']['list']['access'][number];

/** Renders the viewer's active access. */
export function accessPage({ access }: Outputs['access']['list'], view: View): Page {
  return {
    title: texts.access.title,
    live: { every: 5 },
    content: (
      <>
        <p class="lead">
          {texts.access.lead} <a href={`${view.basePath}/roles`}>{texts.access.requestAccess}</a>.
        </p>
        <div id="held" data-region>
          <p class="hidden-text" data-say>
            {access.length === 0 ? texts.access.announceNone : texts.access.announceCount(access.length)}
          </p>
          <AccessList access={access} heading="h2" view={view} />
        </div>
      </>
    ),
  };
}

export function AccessList(props: { access: Held[]; heading: 'h2' | 'h3'; view: View }): VNode {
  const { access, heading: Heading, view } = props;
  if (access.length === 0) {
    return (
      <div class="empty">
        <p>{texts.access.empty}</p>
      </div>
    );
  }
  return (
    <ul class="cards two">
      {access.map((held) => (
        <li key={held.id} class="card">
          <div class="card-head">
            <Heading>
              <a href={to(view, 'execution', held.execution_id)}>{held.role}</a>
            </Heading>
            <Badge status={held.state} />
          </div>
          <Facts
            facts={[
              [
                texts.access.access,
                <div class="sentence">
                  <AccessWords access={held.access} />
                </div>,
              ],
              [texts.access.system, <ProviderLink id={held.provider} view={view} />],
              [texts.access.identity, <code>{held.identity}</code>],
              held.expires_at === null
                ? [texts.access.timeLeft, texts.access.notStarted]
                : [texts.access.timeLeft, <TimeLeft until={held.expires_at} view={view} />],
              held.expires_at !== null && [texts.access.expires, <When at={held.expires_at} view={view} />],
              [texts.access.revocation, afterwardsInWords(held)],
              held.pending !== null && [texts.accessPart.waiting, held.pending],
            ]}
          />
          <ReturnForm id={held.execution_id} role={held.role} view={view} key={held.id} />
        </li>
      ))}
    </ul>
  );
}

export function ReturnForm({ id, role, view }: { id: string; role: string; view: View }): VNode {
  return (
    <PostForm action={to(view, 'access', id, 'return')} view={view}>
      <button type="submit" class="second">
        {texts.access.giveBack}
        <span class="hidden-text">: {role}</span>
      </button>
    </PostForm>
  );
}
