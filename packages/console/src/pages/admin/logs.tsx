import type { VNode } from 'preact';
import { at } from '../../paths.js';
import { texts } from '../../texts.js';
import { addressWith, Empty } from '../parts/list.js';
import { Badge } from '../parts/status.js';
import { Moment } from '../parts/time.js';
import { readable } from '../readable.js';
import { type Outputs, type Page, to, type View } from '../view.js';
import { AdminPaging, AdminTabs, FilterField, filtersOf, given } from './frame.js';

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
        <Filters view={view} />
        {logs.length === 0 ? (
          <Empty icon="scroll-text" title={next === null ? texts.admin.noEvents : texts.admin.noEventsHere} />
        ) : (
          <Entries logs={logs} />
        )}
        <AdminPaging page="logs" filters={filters} next={next} view={view} />
      </>
    ),
  };
}

function Filters({ view }: { view: View }): VNode {
  return (
    <form class="filters" action={at('admin', 'logs')} aria-label={texts.admin.filter}>
      <FilterField view={view} name="user" label={texts.admin.person} hint={texts.admin.address} />
      <FilterField view={view} name="role" label={texts.admin.role} />
      <FilterField view={view} name="provider" label={texts.admin.system} />
      <FilterField view={view} name="type" label={texts.admin.event} />
      <FilterField view={view} name="execution_id" label={texts.admin.request} />
      <FilterField view={view} name="since" label={texts.admin.from} hint={texts.admin.instant} wide />
      <FilterField view={view} name="until" label={texts.admin.until} hint={texts.admin.instant} wide />
      <div>
        <label for="filter-level">{texts.logs.level}</label>
        <select id="filter-level" name="level">
          <option value="">{texts.logs.any}</option>
          {levels.map((level) => (
            <option key={level} value={level} selected={given(view, 'level') === level}>
              {level}
            </option>
          ))}
        </select>
      </div>
      <button type="submit" class="second">
        {texts.admin.filter}
      </button>
    </form>
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
              <td class="time">
                <Moment at={entry.timestamp} />
              </td>
              <td>
                {readable(entry.message)}
                <br />
                <code class="quiet">{entry.type}</code>
              </td>
              <td data-label={texts.logs.actor}>{entry.actor}</td>
              <td data-label={texts.admin.person}>{entry.user}</td>
              <td>
                <Badge status={entry.level} />
              </td>
              <td>
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
