import { AccessList } from './access.js';
import { ExecutionList } from './executions.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { count } from './words.js';

/** What concerns the viewer now. */
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
    title: view.viewer === null ? 'Belay' : `Hello, ${view.viewer.name}`,
    live: { every: 5 },
    content: (
      <>
        <p class="lead">Nobody holds more than they need for longer than they need it.</p>
        <p class="actions start">
          <a class="button" href={`${view.basePath}/roles`}>
            Ask for access
          </a>
        </p>
        <div id="to-decide" data-region>
          {approvals.length > 0 && (
            <section class="state warn" aria-labelledby="decide">
              <h2 id="decide" data-say>
                {count(total, 'request')} {total === 1 ? 'waits' : 'wait'} for your decision
              </h2>
              <ul class="names">
                {approvals.slice(0, 5).map((item) => (
                  <li key={item.id}>
                    <a href={to(view, 'execution', item.execution_id)}>
                      {item.requester.name} asks for {item.role}
                    </a>
                  </li>
                ))}
              </ul>
              <p class="actions">
                <a class="button" href={`${view.basePath}/approvals`}>
                  To the inbox
                </a>
              </p>
            </section>
          )}
        </div>
        <h2>What you hold</h2>
        <div id="held" data-region>
          <AccessList access={found.access.access} heading="h3" view={view} />
        </div>
        <h2>What you asked for</h2>
        <div id="requests" data-region>
          <ExecutionList executions={found.executions.executions} heading="h3" view={view} />
        </div>
      </>
    ),
  };
}
