import type { VNode } from 'preact';
import { at } from '../../paths.js';
import { texts } from '../../texts.js';
import { EventCells } from '../parts/event.js';
import { FilterChoice, FilterField, FilterMoment, Filters, filtersOf, isReversed } from '../parts/filters.js';
import { addressWith, Empty } from '../parts/list.js';
import { Badge } from '../parts/status.js';
import { type Outputs, type Page, to, type View } from '../view.js';
import { AdminPaging, AdminTabs } from './frame.js';

const fields = ['user', 'role', 'provider', 'type', 'level', 'execution_id', 'since', 'until'];
const levels = ['info', 'warning', 'error'];
const columns = [
  texts.logs.time,
  texts.logs.event,
  texts.logs.actor,
  texts.admin.person,
  texts.logs.level,
  texts.logs.request,
];

/** Renders the audit log with its filters, and links to the filtered set as files. */
export function adminLogsPage({ logs, next }: Outputs['admin']['logs'], view: View): Page {
  const filters = filtersOf(view, fields);
  const file = to(view, 'admin', 'logs', 'export');
  return {
    title: texts.admin.logsTitle,
    lead: texts.admin.logsLead,
    actions: (
      <>
        <a class="button second" href={addressWith(file, { ...filters, format: 'csv' })} download="belay-audit.csv">
          {texts.admin.csv}
        </a>
        <a class="button second" href={addressWith(file, filters)} download="belay-audit.ndjson">
          {texts.admin.ndjson}
        </a>
      </>
    ),
    content: (
      <>
        <AdminTabs current="logs" />
        <LogFilters view={view} set={Object.keys(filters).length} />
        {view.refused === undefined && <Found logs={logs} next={next} view={view} />}
        <AdminPaging page="logs" filters={filters} next={next} view={view} />
      </>
    ),
  };
}

const labels = {
  user: texts.admin.person,
  role: texts.admin.role,
  provider: texts.admin.system,
  type: texts.admin.event,
  execution_id: texts.admin.request,
  since: texts.admin.from,
  until: texts.admin.until,
  level: texts.logs.level,
};

function LogFilters({ view, set }: { view: View; set: number }): VNode {
  return (
    <Filters
      view={view}
      action={at('admin', 'logs')}
      label={texts.admin.filters}
      submit={texts.admin.filter}
      set={set}
      labels={labels}
    >
      <FilterField view={view} name="user" label={labels.user} hint={texts.admin.address} />
      <FilterField view={view} name="role" label={labels.role} />
      <FilterField view={view} name="provider" label={labels.provider} />
      <FilterField view={view} name="type" label={labels.type} hint={texts.admin.eventHint} />
      <FilterField view={view} name="execution_id" label={labels.execution_id} />
      <FilterMoment view={view} name="since" label={labels.since} bound="start" />
      <FilterMoment view={view} name="until" label={labels.until} bound="end" />
      <FilterChoice view={view} name="level" label={labels.level} options={levels} />
    </Filters>
  );
}

function Found({ logs, next, view }: Outputs['admin']['logs'] & { view: View }): VNode {
  if (logs.length > 0) return <Entries logs={logs} />;
  return (
    <Empty icon="scroll-text" title={next === null ? texts.admin.noEvents : texts.admin.noEventsHere}>
      {isReversed(view, 'since', 'until') && <p>{texts.filtersPart.reversed}</p>}
    </Empty>
  );
}

function Entries({ logs }: { logs: Outputs['admin']['logs']['logs'] }): VNode {
  return (
    <div class="table">
      <table class="stacks">
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" key={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {logs.map((entry) => (
            <tr key={entry.id}>
              <EventCells entry={entry} />
              <td class="who" data-label={texts.logs.actor} title={entry.actor}>
                {entry.actor}
              </td>
              <td class="who" data-label={texts.admin.person} title={entry.user}>
                {entry.user}
              </td>
              <td class="short">
                <Badge status={entry.level} />
              </td>
              <td class="short">
                {entry.execution_id !== '' && (
                  <a href={at('requests', entry.execution_id)}>{entry.execution_id.slice(-8)}</a>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
