import type { ComponentChildren, VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { whoDecides } from './approvers.js';
import { AccessWords, ProviderLink } from './parts/access.js';
import { Icon } from './parts/icon.js';
import { Empty, Row, SearchField } from './parts/list.js';
import { Badge, EmergencyMark } from './parts/status.js';
import { Glyph } from './parts/system.js';
import { TimeLeft } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { durationInWords } from './words.js';

export type RoleDetails = Outputs['roles']['get'];
/** The definitions of workflows that the viewer can see, by name. */
export type Workflows = ReadonlyMap<string, Outputs['workflows']['get']>;

/** What the page of roles shows about the viewer, in addition to the roles. */
export interface AroundRoles {
  /** The names of the roles that the viewer starred. */
  starred: readonly string[];
  held: Outputs['access']['list']['access'];
  open: Outputs['executions']['list']['executions'];
  /** Ended requests, newest first; their roles are listed as recent. */
  past: Outputs['executions']['list']['executions'];
  systems: Outputs['providers']['list']['providers'];
  mayPutTogether: boolean;
}

/** How many of the recently requested roles are listed first. */
const mostRecent = 5;
/**
 * With more roles than this, only the first `fewRoles` of each system are unfolded: 500 rows would be a page of 23,000
 * pixels.
 */
const manyRoles = 60;
const fewRoles = 5;
/** How many of the roles that a search found are unfolded. */
const bestRoles = 30;
/** From this many systems on, a list of the systems is shown beside the roles. */
const manySystems = 4;

/** Renders the roles that the viewer can request, by system; for a search, the best matches. */
export function rolesPage({ roles }: Outputs['roles']['list'], around: AroundRoles, view: View): Page {
  const q = typeof view.input.q === 'string' ? view.input.q.trim() : '';
  const all = Object.values(roles).map(({ role }) => role);
  const groups = q === '' ? bySystem(all, around) : [{ id: 'found', title: texts.roles.found, roles: all }];
  const starred = q === '' ? starredOf(all, around) : [];
  const recent = q === '' ? recentOf(all, around) : [];
  const few = q !== '' ? bestRoles : all.length > manyRoles ? fewRoles : all.length;
  const rows = (of: readonly RoleDetails[], system?: string) => (
    <ul class="rows">
      {of.map((role) => (
        <RoleRow key={role.name} role={role} system={system} around={around} view={view} />
      ))}
    </ul>
  );
  return {
    title: texts.roles.title,
    lead: texts.roles.lead,
    scripts: ['stars.js'],
    ...(around.mayPutTogether
      ? {
          actions: (
            <a class="button second" href={`${view.basePath}/elevate/dynamic`}>
              {texts.roles.customRequest}
            </a>
          ),
        }
      : {}),
    content: (
      <>
        <form class="toolbar" action={at('roles')}>
          <SearchField name="q" value={q} label={texts.roles.search} placeholder={texts.roles.searchHint} />
          <button type="submit" class="second">
            {texts.roles.submit}
          </button>
        </form>
        <div class={groups.length >= manySystems ? 'roles with-index' : 'roles'}>
          {groups.length >= manySystems && <SystemIndex groups={groups} />}
          <div>
            {starred.length > 0 && (
              <Group id="starred" sign={<Icon name="star" />} title={texts.roles.starred} count={starred.length}>
                {rows(starred)}
              </Group>
            )}
            {recent.length > 0 && (
              <Group id="recent" sign={<Icon name="clock" />} title={texts.roles.recent} count={recent.length}>
                {rows(recent)}
              </Group>
            )}
            {groups.map((group) => (
              <Group
                key={group.id}
                id={group.id}
                sign={'type' in group ? <Glyph type={group.type} small /> : <Icon name="search" />}
                title={group.title}
                count={group.roles.length}
              >
                {rows(group.roles.slice(0, few), 'type' in group ? group.system : undefined)}
                {group.roles.length > few && (
                  <details id={`more-${group.id}`}>
                    <summary>
                      {'type' in group
                        ? texts.roles.moreOf(group.roles.length - few, group.title)
                        : texts.roles.moreFound(group.roles.length - few)}
                    </summary>
                    {rows(group.roles.slice(few), 'type' in group ? group.system : undefined)}
                  </details>
                )}
              </Group>
            ))}
            {all.length === 0 && <NoRoles q={q} view={view} />}
            <form id="stars" method="post" />
            <form id="cart" class="cart" action="/request">
              <span class="cart-count" />
              <button type="submit">{texts.roles.requestSelected}</button>
            </form>
          </div>
        </div>
        {q !== '' && all.length > 0 && view.offers('elevation.suggest') && (
          <p class="quiet after">
            {texts.roles.noMatch}
            <a href={`${view.basePath}/elevate/llm`}>{texts.roles.describeNeed}</a>
          </p>
        )}
      </>
    ),
  };
}

interface Group {
  id: string;
  title: string;
  roles: readonly RoleDetails[];
}

interface SystemGroup extends Group {
  system: string;
  type: string;
}

/** Returns the roles of each system, by the system's name; a role at two systems is listed in both. */
function bySystem(roles: readonly RoleDetails[], { systems }: AroundRoles): SystemGroup[] {
  const known = new Map(systems.map(({ _source }) => [_source.id, _source]));
  const groups = new Map<string, RoleDetails[]>();
  for (const role of roles) {
    for (const id of role.providers) groups.set(id, [...(groups.get(id) ?? []), role]);
  }
  return [...groups]
    .map(([system, of]) => ({
      id: `system-${system}`,
      system,
      title: known.get(system)?.name ?? system,
      type: `${known.get(system)?.provider ?? ''} ${system}`,
      roles: [...of].sort((one, other) => (one.name < other.name ? -1 : 1)),
    }))
    .sort((one, other) => (one.title < other.title ? -1 : 1));
}

function starredOf(roles: readonly RoleDetails[], { starred }: AroundRoles): RoleDetails[] {
  const byName = new Map(roles.map((role) => [role.name, role]));
  return starred.flatMap((name) => byName.get(name) ?? []);
}

/** Returns the recently requested roles. Starred roles are left out, because they are listed above. */
function recentOf(roles: readonly RoleDetails[], { past, open, starred }: AroundRoles): RoleDetails[] {
  const byName = new Map(roles.map((role) => [role.name, role]));
  const names = new Set([...open, ...past].map(({ role }) => role).filter((name) => !starred.includes(name)));
  return [...names].flatMap((name) => byName.get(name) ?? []).slice(0, mostRecent);
}

function SystemIndex({ groups }: { groups: readonly Group[] }): VNode {
  return (
    <nav class="index" aria-label={texts.roles.systems}>
      <p class="side-head">{texts.roles.systems}</p>
      <ul class="plain">
        {groups.map(({ id, title, roles }) => (
          <li key={id}>
            <a class="side-link" href={`#${id}`}>
              <span class="truncate">{title}</span>
              <span class="quiet">{roles.length}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Group(props: { id: string; sign: VNode; title: string; count: number; children: ComponentChildren }): VNode {
  return (
    <section aria-labelledby={props.id}>
      <div class="group-head">
        {props.sign}
        <h2 id={props.id}>{props.title}</h2>
        <span class="quiet">{props.count}</span>
      </div>
      {props.children}
    </section>
  );
}

function RoleRow(props: { role: RoleDetails; system?: string | undefined; around: AroundRoles; view: View }): VNode {
  const { role, system, view, around } = props;
  // For a role at several systems, only the list by systems shows which system is meant.
  const pick = system ?? (role.providers.length === 1 ? role.providers[0] : undefined);
  const isHere = (provider: string) => system === undefined || provider === system;
  const held = around.held.find((access) => access.role === role.name && isHere(access.provider));
  const asked = around.open.find((request) => request.role === role.name && request.providers.some(isHere));
  const starred = around.starred.includes(role.name);
  return (
    <Row
      href={at('roles', role.name)}
      title={role.name}
      sub={role.description}
      sign={pick !== undefined && <Select role={role.name} provider={pick} />}
    >
      {role.break_glass === true && <EmergencyMark />}
      {held !== undefined ? (
        <>
          {held.expires_at !== null && <TimeLeft until={held.expires_at} view={view} />}
          <Badge status={held.state} />
        </>
      ) : asked !== undefined ? (
        <a href={at('requests', asked.workflow_id)} class="badge warn">
          {texts.roles.requested}
        </a>
      ) : (
        <span>{texts.roles.upTo(durationInWords(role.max_duration))}</span>
      )}
      <Star role={role.name} starred={starred} view={view} />
      <Icon name="chevron-right" />
    </Row>
  );
}

/**
 * Renders the button that stars a role or removes its star. All these buttons share one form, because a form in each of hundreds of rows
 * would make the page too long. Each button has its own address and the CSRF token for that address.
 */
function Star({ role, starred, view }: { role: string; starred: boolean; view: View }): VNode {
  const action = to(view, 'role', role, starred ? 'unstar' : 'star');
  return (
    <button
      type="submit"
      form="stars"
      formaction={action}
      name="csrf_token"
      value={view.csrf(action)}
      class="bare square star"
      aria-pressed={starred ? 'true' : 'false'}
      aria-label={texts.roles.star(role)}
    >
      <Icon name="star" />
    </button>
  );
}

/** Renders the checkbox that adds a role to a request for several roles. */
function Select({ role, provider }: { role: string; provider: string }): VNode {
  return (
    <input
      type="checkbox"
      form="cart"
      name="roles"
      value={`${provider}:${role}`}
      aria-label={texts.roles.select(role, provider)}
    />
  );
}

function NoRoles({ q, view }: { q: string; view: View }): VNode {
  if (q === '') return <Empty icon="key-round" title={texts.roles.empty} />;
  return (
    <Empty icon="search" title={texts.roles.nothingFound(q)}>
      <p>{texts.roles.nothingFoundHint}</p>
      <div class="actions">
        <a class="button second" href={at('roles')}>
          {texts.roles.allRoles}
        </a>
        {view.offers('elevation.suggest') && (
          <a class="button second" href={`${view.basePath}/elevate/llm`}>
            {texts.roles.describeNeed}
          </a>
        )}
      </div>
    </Empty>
  );
}

export function permitted(role: RoleDetails): [string, VNode] {
  return [
    texts.roles.access,
    <ul>
      {role.grants.length === 0 && <li>{texts.roles.noAccess}</li>}
      {role.grants.map(({ provider, access }) => (
        <li key={`${provider} ${JSON.stringify(access)}`} class="sentence">
          <AccessWords access={access} />
          {texts.roles.at}
          <ProviderLink id={provider} />
        </li>
      ))}
    </ul>,
  ];
}

export function decided(role: RoleDetails, workflows: Workflows): [string, string] | undefined {
  const first = workflows.get(role.workflows[0] ?? '');
  return first === undefined ? undefined : [texts.roles.approvers, whoDecides(first.document.do)];
}

export function held(role: RoleDetails): [string, string] {
  const most = durationInWords(role.max_duration);
  const usual = durationInWords(role.default_duration);
  return [texts.roles.duration, most === usual ? most : texts.roles.usualAndMost(usual, most)];
}
