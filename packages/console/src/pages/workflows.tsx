import { at } from '../paths.js';
import { texts } from '../texts.js';
import { whoDecides } from './approvers.js';
import { Diagram } from './diagram.js';
import { Facts } from './parts/facts.js';
import { Icon } from './parts/icon.js';
import { Empty, Row } from './parts/list.js';
import type { Outputs, Page, View } from './view.js';

/** Renders the list of workflows. */
export function workflowsPage({ workflows }: Outputs['workflows']['list'], _view: View): Page {
  const entries = Object.entries(workflows);
  return {
    title: texts.workflows.workflows,
    lead: texts.workflows.lead,
    content:
      entries.length === 0 ? (
        <Empty icon="workflow" title={texts.workflows.empty} />
      ) : (
        <ul class="rows">
          {entries.map(([key, workflow]) => (
            <Row key={key} href={at('workflows', key)} title={workflow.name} sub={workflow.description}>
              <Icon name="chevron-right" />
            </Row>
          ))}
        </ul>
      ),
  };
}

/** Renders one workflow with its diagram. */
export function workflowPage(workflow: Outputs['workflows']['get'], _view: View): Page {
  const { document } = workflow;
  return {
    title: workflow.name,
    ...(workflow.description === '' ? {} : { lead: workflow.description }),
    crumbs: [{ href: at('workflows'), text: texts.workflows.workflows }],
    content: (
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
    ),
  };
}
