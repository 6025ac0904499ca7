import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { AccessWords, afterwardsInWords, ProviderLink } from './parts/access.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { Empty } from './parts/list.js';
import { Badge, EmergencyMark } from './parts/status.js';
import { TimeBar, TimeLeft, When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';

type Held = Outputs['access']['list']['access'][number];

/** Renders the viewer's active access. */
export function accessPage({ access }: Outputs['access']['list'], view: View): Page {
  return {
    title: texts.access.title,
    live: { every: 5 },
    lead: texts.access.lead,
    actions: (
      <a class="button" href={at('roles')}>
        {texts.access.requestAccess}
      </a>
    ),
    content: (
      <>
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

function AccessList(props: { access: Held[]; heading: 'h2' | 'h3'; view: View }): VNode {
  const { access, heading: Heading, view } = props;
  if (access.length === 0) {
    return (
      <Empty icon="shield-check" title={texts.access.empty}>
        <p>{texts.access.emptyHint}</p>
      </Empty>
    );
  }
  return (
    <ul class="cards two">
      {access.map((held) => (
        <li key={held.id} class="card">
          <div class="card-head">
            <Heading>
              <a href={at('requests', held.execution_id)}>{held.role}</a>
            </Heading>
            <span class="badges">
              {held.break_glass && <EmergencyMark />}
              <Badge status={held.state} />
            </span>
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
                : [
                    texts.access.timeLeft,
                    <>
                      <TimeLeft until={held.expires_at} view={view} />
                      {held.granted_at !== null && (
                        <TimeBar from={held.granted_at} until={held.expires_at} view={view} />
                      )}
                    </>,
                  ],
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

export function ReturnForm(props: { id: string; role: string; view: View; small?: boolean }): VNode {
  const { id, role, view, small = false } = props;
  return (
    <PostForm action={to(view, 'access', id, 'return')} view={view}>
      <button type="submit" class={small ? 'second small' : 'second'}>
        {texts.access.giveBack}
        <span class="hidden-text">: {role}</span>
      </button>
    </PostForm>
  );
}
