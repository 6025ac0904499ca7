import { texts } from '../../texts.js';
import { Empty } from '../parts/list.js';
import { Ago } from '../parts/time.js';
import { type Outputs, type Page, to, type View } from '../view.js';
import { Act, AdminPaging, AdminTabs } from './frame.js';

/** Renders the agents that are enrolled, and the forms that remove them. */
export function adminAgentsPage({ agents, next }: Outputs['admin']['agents'], view: View): Page {
  return {
    title: texts.admin.agentsTitle,
    lead: texts.admin.agentsLead,
    content: (
      <>
        <AdminTabs current="agents" />
        {agents.length === 0 && <Empty icon="bot" title={texts.admin.noAgents} />}
        <ul class="rows">
          {agents.map((agent) => (
            <li key={agent.id} class="row">
              <span class="row-main">
                <span class="row-title">{agent.name}</span>
                <span class="row-sub">{[agent.environment, agent.description].filter(Boolean).join(' · ')}</span>
              </span>
              <span class="row-side">
                {agent.catalog_version !== null && <code class="quiet">{agent.catalog_version}</code>}
                {agent.seen_at === null ? (
                  <span class="quiet">{texts.admin.neverSeen}</span>
                ) : (
                  <span>
                    {texts.admin.seen} <Ago at={agent.seen_at} view={view} />
                  </span>
                )}
                <Act
                  id={`remove-${agent.id}`}
                  opens={texts.admin.remove}
                  about={texts.admin.removeAbout(agent.name)}
                  title={texts.admin.removeTitle}
                  action={to(view, 'admin', 'agents', agent.id, 'remove')}
                  view={view}
                />
              </span>
            </li>
          ))}
        </ul>
        <AdminPaging page="agents" filters={{}} next={next} view={view} />
      </>
    ),
  };
}
