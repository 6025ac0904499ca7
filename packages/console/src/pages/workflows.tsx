import { texts } from '../texts.js';
import { whoDecides } from './approvers.js';
import { Diagram } from './diagram.js';
import { Facts } from './parts/facts.js';
import { type Outputs, type Page, to, type View } from './view.js';

/** Returns how requests are decided. */
export function workflowsPage({ workflows }: Outputs['workflows']['list'], view: View): Page {
  const entries = Object.entries(workflows);
  return {
    title: texts.workflows.workflows,
    content: (
      <>
        <p class="lead">{texts.workflows.lead}</p>
        {entries.length === 0 ? (
          <div class="empty">
            <p>{texts.workflows.empty}</p>
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

/** Returns one workflow and its picture. */
export function workflowPage(workflow: Outputs['workflows']['get'], _view: View): Page {
  const { document } = workflow;
  return {
    title: workflow.name,
    content: (
      <>
        <p class="lead">{workflow.description}</p>
        <div class="columns">
          <section aria-labelledby="picture">
            <h2 id="picture">{texts.workflows.steps}</h2>
            <Diagram tasks={document.do} />
          </section>
          <section aria-labelledby="about">
            <h2 id="about">{texts.workflows.details}</h2>
            <Facts
              facts={[
                [texts.workflows.approvers, whoDecides(document.do)],
                [texts.workflows.version, document.version],
                [texts.workflows.namespace, document.namespace],
                [texts.workflows.language, texts.workflows.serverlessWorkflowDsl(document.dsl)],
              ]}
            />
            <p class="quiet">{texts.workflows.revocationNote}</p>
            <details id="definition">
              <summary>{texts.workflows.definition}</summary>
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
