import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { EventCells } from './parts/event.js';
import { FilterChoice, FilterField, FilterMoment, Filters, filtersOf, isReversed } from './parts/filters.js';
import { addressWith, Empty } from './parts/list.js';
import { Badge } from './parts/status.js';
import { type Outputs, type Page, to, type View } from './view.js';

type Entry = Outputs['logs']['list']['logs'][number];

const fields = ['level', 'provider', 'workflow_id', 'since', 'until'];
const levels = ['info', 'warning', 'error'];
const labels = {
  level: texts.logs.level,
  provider: texts.logs.system,
  workflow_id: texts.logs.request,
  since: texts.logs.from,
  until: texts.logs.until,
};

/** Renders the newest events that the viewer can see, with filters, and a link to a file with all matching events. */
export function logsPage({ logs }: Outputs['logs']['list'], view: View): Page {
  const filters = filtersOf(view, fields);
  return {
    title: texts.logs.title,
    lead: texts.logs.lead,
    ...(view.offers('logs.export') ? { actions: <Export filters={filters} view={view} /> } : {}),
    content: (
      <>
        <Filters
          view={view}
          action={at('audit')}
          label={texts.logs.filters}
          submit={texts.logs.filter}
          set={Object.keys(filters).length}
          labels={labels}
        >
          <FilterChoice view={view} name="level" label={labels.level} options={levels} />
          <FilterField view={view} name="provider" label={labels.provider} />
          <FilterField view={view} name="workflow_id" label={labels.workflow_id} />
          <FilterMoment view={view} name="since" label={labels.since} bound="start" />
          <FilterMoment view={view} name="until" label={labels.until} bound="end" />
        </Filters>
        {view.refused === undefined && <Found logs={logs} view={view} />}
        {view.refused === undefined && <More shown={logs.length} filters={filters} view={view} />}
      </>
    ),
  };
}

function Export({ filters, view }: { filters: Readonly<Record<string, string>>; view: View }): VNode {
  return (
    <a class="button second" href={addressWith(to(view, 'logs', 'export'), filters)} download="belay-log.ndjson">
      {texts.logs.export}
    </a>
  );
}

/** The numbers of events that a page can show. */
const steps = [100, limits.page];

/** Renders the link to show more events, if there are more. */
function More(props: { shown: number; filters: Readonly<Record<string, string>>; view: View }): VNode | null {
  const { shown, filters, view } = props;
  const more = steps.find((step) => step > shown);
  if (shown < Number(view.input.limit) || more === undefined) return null;
  return (
    <p class="after">
      <a class="button second" href={addressWith(at('audit'), { ...filters, limit: String(more) })}>
        {texts.logs.showMore(more)}
      </a>
    </p>
  );
}

function Found({ logs, view }: { logs: Entry[]; view: View }): VNode {
  if (logs.length === 0) {
    return (
      <Empty icon="scroll-text" title={texts.logs.empty}>
        {isReversed(view, 'since', 'until') && <p>{texts.filtersPart.reversed}</p>}
      </Empty>
    );
  }
  return (
    <>
      <p class="quiet" role="status">
        {logs.length === 1 ? texts.logs.oneEvent : texts.logs.events(logs.length)}
      </p>
      <div class="table">
        <table class="stacks">
          <thead>
            <tr>
              <th scope="col">{texts.logs.time}</th>
              <th scope="col">{texts.logs.event}</th>
              <th scope="col">{texts.logs.actor}</th>
              <th scope="col">{texts.logs.level}</th>
              <th scope="col">{texts.logs.request}</th>
            </tr>
          </thead>
          <tbody>
            {logs.map((entry) => (
              <tr key={`${entry.timestamp} ${entry.type} ${entry.message}`}>
                <EventCells entry={entry} />
                <td class="who" data-label={texts.logs.actor} title={entry.user}>
                  {whoActed(entry.user, view)}
                </td>
                <td class="short">
                  <Badge status={entry.level} />
                </td>
                <td class="short">
                  {entry.workflow_id !== '' && (
                    <a href={at('requests', entry.workflow_id)}>
                      <span class="hidden-text">{texts.logs.hiddenRequest}</span>
                      {entry.workflow_id.slice(-8)}
                    </a>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function whoActed(user: string, { viewer }: View): string {
  if (user === '') return texts.logs.belay;
  return user === viewer?.email ? 'you' : user;
}
