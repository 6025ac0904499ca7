import { texts } from '../texts.js';
import { AccessList } from './access.js';
import { ExecutionList } from './executions.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { count } from './words.js';

/** Renders the start page: decisions to make, active access and open requests. */
export function homePage(
  found: {
    access: Outputs['access']['list'];
    inbox: Outputs['approvals']['inbox'];
    executions: Outputs['executions']['list'];
  },
  view: View,
): Page {
  const { approvals, total } = found.inbox;
  return {
    title: view.viewer === null ? texts.home.belay : texts.home.hello(view.viewer.name),
    live: { every: 5 },
    content: (
      <>
        <p class="actions start">
          <a class="button" href={`${view.basePath}/roles`}>
            {texts.home.requestAccess}
          </a>
        </p>
        <div id="to-decide" data-region>
          {approvals.length > 0 && (
            <section class="state warn" aria-labelledby="decide">
              <h2 id="decide" data-say>
                {count(total, 'request')} {total === 1 ? 'waits' : 'wait'}
                {texts.home.forYourDecision}
              </h2>
              <ul class="names">
                {approvals.slice(0, 5).map((item) => (
                  <li key={item.id}>
                    <a href={to(view, 'execution', item.execution_id)}>
                      {item.requester.name}
                      {texts.home.requests}
                      {item.role}
                    </a>
                  </li>
                ))}
              </ul>
              <p class="actions">
                <a class="button" href={`${view.basePath}/approvals`}>
                  {texts.home.openInbox}
                </a>
              </p>
            </section>
          )}
        </div>
        <h2>{texts.home.activeAccess}</h2>
        <div id="held" data-region>
          <AccessList access={found.access.access} heading="h3" view={view} />
        </div>
        <h2>{texts.home.openRequests}</h2>
        <div id="requests" data-region>
          <ExecutionList executions={found.executions.executions} heading="h3" view={view} />
        </div>
      </>
    ),
  };
}
