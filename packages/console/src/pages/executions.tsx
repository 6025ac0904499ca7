import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { StateBadge } from './parts/status.js';
import { When } from './parts/time.js';
import { readable } from './readable.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { listInWords } from './words.js';

export type ExecutionSummary = Outputs['executions']['list']['executions'][number];

/** Renders the viewer's open requests. */
export function executionsPage({ executions, next }: Outputs['executions']['list'], view: View): Page {
  return {
    title: texts.executions.title,
    live: { every: 5 },
    content: (
      <>
        <p class="lead">
          {texts.executions.lead} <a href={`${view.basePath}/logs`}>{texts.executions.auditLog}</a>.
        </p>
        <div id="requests" data-region>
          <ExecutionList executions={executions} heading="h2" view={view} />
        </div>
        {next !== null && (
          <p>
            <a href={`${view.basePath}/executions?${new URLSearchParams({ cursor: next })}`}>
              {texts.executions.olderRequests}
            </a>
          </p>
        )}
      </>
    ),
  };
}

function ExecutionList(props: { executions: ExecutionSummary[]; heading: 'h2' | 'h3'; view: View }): VNode {
  const { executions, heading: Heading, view } = props;
  if (executions.length === 0) {
    return (
      <div class="empty">
        <p>{texts.executions.empty}</p>
      </div>
    );
  }
  return (
    <ul class="cards">
      {executions.map((execution) => (
        <li key={execution.workflow_id} class="card">
          <div class="card-head">
            <Heading>
              <a href={to(view, 'execution', execution.workflow_id)}>
                {execution.role}
                {texts.executions.at}
                {listInWords(execution.providers)}
              </a>
            </Heading>
            <StateBadge state={execution.state} />
          </div>
          {execution.reason !== '' && <p>{execution.reason}</p>}
          <p class="quiet">
            {execution.waiting_for.length > 0 &&
              `${execution.state === 'active' ? texts.executions.until : texts.executions.waitingFor} ${readable(listInWords(execution.waiting_for))}. `}
            {texts.executions.requested}
            <When at={execution.start_time} view={view} />
          </p>
        </li>
      ))}
    </ul>
  );
}
