import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { navigation } from './navigation.js';
import { Icon, type IconName } from './parts/icon.js';
import { Empty, SearchField } from './parts/list.js';
import { Avatar } from './parts/people.js';
import { Glyph } from './parts/system.js';
import type { Outputs, Page, View } from './view.js';

export interface Searched {
  roles: Outputs['roles']['list']['roles'];
  executions: Outputs['executions']['list']['executions'];
  /** Only for administrators and auditors. */
  people: Outputs['admin']['people']['people'];
}

interface Found {
  href: string;
  text: string;
  sub?: string;
  sign: VNode;
}

/** How many results of each kind are shown; more letters find the others. */
const most = 8;

/** Renders the search over pages, roles, requests and, for administrators and auditors, people. The palette shows the same results. */
export function searchPage(found: Searched, view: View): Page {
  const words = typeof view.input.q === 'string' ? view.input.q.trim() : '';
  const groups: [title: string, items: Found[]][] = [
    [texts.search.actions, actionsOf(found, view)],
    [texts.search.pages, pagesOf(view)],
    [texts.search.roles, rolesOf(found)],
    [texts.search.requests, requestsOf(found)],
    [texts.search.people, peopleOf(found)],
  ];
  const shown = groups
    .map(([title, items]): [string, Found[]] => [title, items.filter((item) => isMatch(item, words)).slice(0, most)])
    .filter(([, items]) => items.length > 0);
  return {
    title: texts.search.title,
    content: (
      <>
        <form class="toolbar" action="/search">
          <SearchField name="q" value={words} label={texts.search.label} />
          <button type="submit" class="second">
            {texts.search.submit}
          </button>
        </form>
        <div class="found">
          {shown.map(([title, items]) => (
            <section key={title} aria-label={title}>
              <h2>{title}</h2>
              <ul aria-label={title}>
                {items.map(({ href, text, sub, sign }) => (
                  <li key={href}>
                    <a href={href}>
                      {sign}
                      <span class="truncate">{text}</span>
                      {sub !== undefined && <span class="quiet truncate">{sub}</span>}
                    </a>
                  </li>
                ))}
              </ul>
            </section>
          ))}
          {shown.length === 0 && <Empty icon="search" title={texts.search.empty(words)} />}
        </div>
      </>
    ),
  };
}

/** Returns whether every word is in the name or in the text beside it. */
function isMatch({ text, sub = '' }: Found, words: string): boolean {
  const within = `${text} ${sub}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => within.includes(word));
}

function signOf(name: IconName): VNode {
  return <Icon name={name} />;
}

function pagesOf(view: View): Found[] {
  return navigation.flatMap(({ entries }) =>
    entries
      .filter(({ when }) => when === undefined || when(view))
      .map(({ href, icon, text }) => ({ href, text, sign: signOf(icon) })),
  );
}

/** Returns links to the actions that the viewer can do now. A search changes nothing itself. */
function actionsOf({ executions }: Searched, view: View): Found[] {
  const held = executions.filter(({ state, user }) => state === 'active' && user === view.viewer?.email);
  return [
    ...(view.waiting > 0
      ? [{ href: `${at('inbox')}#opened-head`, text: texts.search.decide(view.waiting), sign: signOf('list-checks') }]
      : []),
    ...held.flatMap(({ workflow_id, role, reason }) => [
      {
        href: `${at('requests', workflow_id)}#give-back`,
        text: texts.search.giveBack(role),
        sub: reason,
        sign: signOf('undo-2'),
      },
      {
        href: `${at('requests', workflow_id)}#extend-for`,
        text: texts.search.extend(role),
        sub: reason,
        sign: signOf('clock'),
      },
    ]),
  ];
}

function rolesOf({ roles }: Searched): Found[] {
  return Object.entries(roles).map(([name, { role }]) => ({
    href: at('roles', name),
    text: name,
    sub: role.description,
    sign: <Glyph type={role.providers[0] ?? ''} small />,
  }));
}

function requestsOf({ executions }: Searched): Found[] {
  return executions.map(({ workflow_id, role, reason }) => ({
    href: at('requests', workflow_id),
    text: role,
    sub: reason,
    sign: signOf('clock'),
  }));
}

function peopleOf({ people }: Searched): Found[] {
  return people.map(({ name, email }) => ({
    href: at('admin', 'people', email),
    text: name,
    sub: email,
    sign: <Avatar name={name} small />,
  }));
}
