import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { ReturnForm } from './access.js';
import { Empty, Row, SearchField } from './parts/list.js';
import { Avatar } from './parts/people.js';
import { Badge, EmergencyMark, StateBadge } from './parts/status.js';
import { Glyph } from './parts/system.js';
import { Ago, TimeBar, TimeLeft } from './parts/time.js';
import type { Outputs, Page, View } from './view.js';
import { count, durationInWords, listInWords } from './words.js';

interface Found {
  access: Outputs['access']['list'];
  inbox: Outputs['approvals']['inbox'];
  executions: Outputs['executions']['list'];
}

/** How many requests of each list the start page shows; the other pages show all of them. */
const most = 5;

/** Renders the start page: a search for roles, decisions to make, active access and open requests. */
export function homePage(found: Found, view: View): Page {
  return {
    title: view.viewer === null ? texts.home.belay : texts.home.hello(view.viewer.name),
    live: { every: 5 },
    content: (
      <>
        <form class="ask" action={at('roles')}>
          <SearchField name="q" value="" label={texts.home.ask} placeholder={texts.home.askHint} />
          <button type="submit" class="large">
            {texts.home.requestAccess}
          </button>
        </form>
        <div id="to-decide" data-region>
          <Waiting inbox={found.inbox} view={view} />
        </div>
        <div class="section-head">
          <h2>{texts.home.activeAccess}</h2>
          <a href={at('access')}>{texts.home.all}</a>
        </div>
        <div id="held" data-region>
          <Held access={found.access.access} view={view} />
        </div>
        <div class="section-head">
          <h2>{texts.home.openRequests}</h2>
          <a href={at('requests')}>{texts.home.all}</a>
        </div>
        <div id="requests" data-region>
          <Open executions={found.executions.executions} view={view} />
        </div>
      </>
    ),
  };
}

function Waiting({ inbox, view }: { inbox: Found['inbox']; view: View }): VNode | null {
  const { approvals, total } = inbox;
  if (approvals.length === 0) return null;
  return (
    <section aria-labelledby="decide">
      <div class="section-head">
        <h2 id="decide" data-say>
          {count(total, 'request')} {total === 1 ? 'waits' : 'wait'}
          {texts.home.forYourDecision}
        </h2>
        <a href={at('inbox')}>{texts.home.openInbox}</a>
      </div>
      <ul class="rows">
        {approvals.slice(0, most).map((item) => (
          <Row
            key={item.id}
            href={at('requests', item.execution_id)}
            sign={<Avatar name={item.requester.name} />}
            title={`${item.requester.name}${texts.home.requests}${item.role}`}
            sub={item.reason}
          >
            {item.break_glass && <EmergencyMark />}
            <span>{durationInWords(item.duration)}</span>
            <Ago at={item.created_at} view={view} />
          </Row>
        ))}
      </ul>
    </section>
  );
}

function Held({ access, view }: { access: Found['access']['access']; view: View }): VNode {
  if (access.length === 0) return <Empty icon="shield-check" title={texts.access.empty} />;
  return <ul class="rows">{access.map((held) => HeldRow({ held, view }))}</ul>;
}

function HeldRow({ held, view }: { held: Found['access']['access'][number]; view: View }): VNode {
  const { id, execution_id, role, provider, granted_at, expires_at, state, break_glass } = held;
  return (
    <Row key={id} href={at('requests', execution_id)} sign={<Glyph type={provider} />} title={role} sub={provider}>
      {break_glass && <EmergencyMark />}
      {expires_at !== null && (
        <span class="time-left">
          <TimeLeft until={expires_at} view={view} />
          {granted_at !== null && <TimeBar from={granted_at} until={expires_at} view={view} />}
        </span>
      )}
      <Badge status={state} />
      <ReturnForm id={execution_id} role={role} view={view} small />
    </Row>
  );
}

function Open({ executions, view }: { executions: Found['executions']['executions']; view: View }): VNode {
  // Active access is listed above.
  const open = executions.filter(({ state }) => state !== 'active');
  if (open.length === 0) return <Empty icon="clock" title={texts.executions.empty} />;
  return (
    <ul class="rows">
      {open.slice(0, most).map((execution) => (
        <Row
          key={execution.workflow_id}
          href={at('requests', execution.workflow_id)}
          sign={<Glyph type={execution.providers[0] ?? ''} />}
          title={execution.role}
          sub={execution.reason === '' ? listInWords(execution.providers) : execution.reason}
        >
          {execution.break_glass && <EmergencyMark />}
          <Ago at={execution.start_time} view={view} />
          <StateBadge state={execution.state} />
        </Row>
      ))}
    </ul>
  );
}
