import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { FilterDay, FilterField, SetCount } from './parts/filters.js';
import { Refused } from './parts/form.js';
import { addressWith, Empty, Paging, Row, SearchField, type Tab, Tabs } from './parts/list.js';
import { Person } from './parts/people.js';
import { EmergencyMark, StateBadge } from './parts/status.js';
import { Glyph } from './parts/system.js';
import { Ago } from './parts/time.js';
import { readable } from './readable.js';
import type { Outputs, Page, View } from './view.js';
import { listInWords } from './words.js';

export type ExecutionSummary = Outputs['executions']['list']['executions'][number];

const filters = ['status', 'decided_by', 'person', 'role', 'provider', 'q', 'from', 'to'] as const;
type Filter = Partial<Record<(typeof filters)[number], string>>;

function filterOf(view: View): Filter {
  return Object.fromEntries(
    filters.flatMap((name) => {
      const value = view.input[name];
      return typeof value === 'string' && value !== '' ? [[name, value]] : [];
    }),
  );
}

/** Returns the address of the list of requests; without a filter, it lists the viewer's running ones. */
function listAt(filter: Filter, cursor?: string): string {
  return addressWith(at('requests'), { ...filter, cursor });
}

/** Renders requests. The tab and the filters are in the address. `oversees`: the viewer can see the requests of all people. */
export function executionsPage(
  { executions, next }: Outputs['executions']['list'],
  { oversees }: { oversees: boolean },
  view: View,
): Page {
  const filter = filterOf(view);
  return {
    title: texts.executions.title,
    lead: texts.executions.lead,
    ...(view.refused === undefined && ['open', 'active'].includes(filter.status ?? 'open')
      ? { live: { every: 5 } }
      : {}),
    content: (
      <>
        <Tabs label={texts.executions.tabs} tabs={tabsOf(filter, oversees)} />
        <Filters filter={filter} view={view} />
        <div id="requests" data-region>
          {view.refused === undefined && <ExecutionRows executions={executions} view={view} more={next !== null} />}
        </div>
        <Paging older={next === null ? undefined : listAt(filter, next)} />
      </>
    ),
  };
}

function tabsOf(filter: Filter, oversees: boolean): Tab[] {
  const { status, decided_by, person } = filter;
  const others = decided_by !== undefined || person === 'anyone';
  const tab = (text: string, to: Filter, current: boolean): Tab => ({ href: listAt(to), text, current });
  return [
    tab(texts.executions.inProgress, {}, !others && Object.keys(filter).length === 0),
    tab(texts.executions.open, { status: 'open' }, !others && status === 'open'),
    tab(texts.executions.active, { status: 'active' }, !others && status === 'active'),
    tab(texts.executions.past, { status: 'past' }, !others && status === 'past'),
    tab(texts.executions.decidedByMe, { decided_by: 'me' }, decided_by !== undefined),
    ...(oversees
      ? [tab(texts.executions.everyone, { person: 'anyone' }, decided_by === undefined && person === 'anyone')]
      : []),
  ];
}

const labels = {
  role: texts.executions.role,
  provider: texts.executions.system,
  person: texts.executions.person,
  from: texts.executions.from,
  to: texts.executions.to,
};

/** Renders the search and the filters; submitting them leads to an address with all of them. */
function Filters({ filter, view }: { filter: Filter; view: View }): VNode {
  const { status, decided_by, q, role, provider, person, from, to } = filter;
  const set = [role, provider, person === 'anyone' ? undefined : person, from, to].filter(Boolean).length;
  const unfiltered = listAt({
    ...(status === undefined ? {} : { status }),
    ...(decided_by === undefined ? {} : { decided_by }),
    ...(person === 'anyone' ? { person } : {}),
  });
  return (
    <form class="request-filters" action={at('requests')}>
      <Refused view={view} labels={labels} lead={texts.filtersPart.notApplied} />
      {decided_by !== undefined && <input type="hidden" name="decided_by" value={decided_by} />}
      <div class="toolbar">
        <SearchField name="q" value={q ?? ''} label={texts.executions.search} />
        <div>
          <label for="filter-status">{texts.executions.status}</label>
          <select id="filter-status" name="status">
            {statuses.map(([value, text]) => (
              <option key={value} value={value} selected={value === (status ?? 'all')}>
                {text}
              </option>
            ))}
          </select>
        </div>
        <button type="submit" class="second">
          {texts.executions.submit}
        </button>
      </div>
      <details id="filters" open={view.refused !== undefined}>
        <summary>
          {texts.executions.moreFilters} <SetCount set={set} />
        </summary>
        <div class="filters">
          <FilterField view={view} name="role" label={labels.role} />
          <FilterField view={view} name="provider" label={labels.provider} />
          <FilterField view={view} name="person" label={labels.person} />
          <FilterDay view={view} name="from" label={labels.from} />
          <FilterDay view={view} name="to" label={labels.to} />
          {set > 0 && (
            <div class="filter-actions">
              <a class="button bare" href={unfiltered}>
                {texts.filtersPart.clear}
              </a>
            </div>
          )}
        </div>
      </details>
    </form>
  );
}

const statuses: readonly [string, string][] = [
  ['all', texts.executions.all],
  ['open', texts.executions.open],
  ['active', texts.executions.active],
  ['past', texts.executions.past],
  ['completed', texts.executions.completed],
  ['cancelled', texts.executions.cancelled],
  ['terminated', texts.executions.terminated],
  ['faulted', texts.executions.faulted],
];

const over = new Set(['ended', 'denied', 'cancelled', 'terminated', 'failed']);

function ExecutionRows(props: { executions: ExecutionSummary[]; more: boolean; view: View }): VNode {
  const { executions, more, view } = props;
  if (executions.length === 0) {
    return (
      <Empty icon="clock" title={more ? texts.executions.noneHere : texts.executions.empty}>
        <p>{more ? texts.executions.goOn : <a href={at('roles')}>{texts.executions.requestAccess}</a>}</p>
      </Empty>
    );
  }
  return (
    <ul class="rows">
      {executions.map((execution) => (
        <Row
          key={execution.workflow_id}
          href={at('requests', execution.workflow_id)}
          sign={<Glyph type={execution.providers[0] ?? ''} />}
          title={texts.executions.roleAt(execution.role, listInWords(execution.providers))}
          sub={subOf(execution)}
          hint={subOf(execution)}
        >
          {execution.break_glass && <EmergencyMark />}
          {execution.user !== view.viewer?.email && <Person name={execution.user} />}
          <StateBadge state={execution.state} />
          <Ago at={execution.ended_at ?? execution.requested_at} view={view} />
          {execution.user === view.viewer?.email && over.has(execution.state) && (
            <a class="button second small" href={`${at('requests', execution.workflow_id)}#again`}>
              {texts.executions.requestAgain}
              <span class="hidden-text">: {execution.role}</span>
            </a>
          )}
        </Row>
      ))}
    </ul>
  );
}

/** Returns the reason, what the request waits for, and who decided. */
function subOf({ reason, waiting_for, state, decided_by }: ExecutionSummary): string {
  const waits = readable(listInWords(waiting_for));
  const by = [...new Set(decided_by.map(({ approver }) => approver))];
  return [
    reason,
    waits !== '' && state !== 'active' ? texts.executions.waits(waits) : '',
    by.length > 0 ? texts.executions.decidedBy(listInWords(by)) : '',
  ]
    .filter((part) => part !== '')
    .join(' · ');
}
