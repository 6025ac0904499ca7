import { whoDecides } from './approvers.js';
import { Diagram } from './diagram.js';
import { Facts } from './parts/facts.js';
import { type Outputs, type Page, to, type View } from './view.js';

/** How requests are decided. */
export function workflowsPage({ workflows }: Outputs['workflows']['list'], view: View): Page {
  const entries = Object.entries(workflows);
  return {
    title: 'Workflows',
    content: (
      <>
        <p class="lead">What happens to a request. A role says which of these it goes through.</p>
        {entries.length === 0 ? (
          <div class="empty">
            <p>There is no workflow here that you may start.</p>
          </div>
        ) : (
          <ul class="cards two">
            {entries.map(([key, workflow]) => (
              <li key={key} class="card">
                <h2>
                  <a href={to(view, 'workflow', key)}>{workflow.name}</a>
                </h2>
                <p>{workflow.description}</p>
              </li>
            ))}
          </ul>
        )}
      </>
    ),
  };
}

/** One workflow and its picture. */
export function workflowPage(workflow: Outputs['workflows']['get'], _view: View): Page {
  const { document } = workflow;
  return {
    title: workflow.name,
    content: (
      <>
        <p class="lead">{workflow.description}</p>
        <div class="columns">
          <section aria-labelledby="picture">
            <h2 id="picture">What happens</h2>
            <Diagram tasks={document.do} />
          </section>
          <section aria-labelledby="about">
            <h2 id="about">About it</h2>
            <Facts
              facts={[
                ['Decided by', whoDecides(document.do)],
                ['Version', document.version],
                ['Namespace', document.namespace],
                ['Written in', `Serverless Workflow DSL ${document.dsl}`],
              ]}
            />
            <p class="quiet">
              Taking access away is no step of a workflow: whatever becomes of it, what it granted ends on time.
            </p>
            <details id="definition">
              <summary>The definition</summary>
              <pre>
                <code>{JSON.stringify(document, null, 2)}</code>
              </pre>
            </details>
          </section>
        </div>
      </>
    ),
  };
}
