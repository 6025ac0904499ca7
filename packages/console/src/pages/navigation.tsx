import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { Icon, type IconName } from './parts/icon.js';
import type { Frame } from './view.js';

interface Entry {
  href: string;
  icon: IconName;
  text: string;
  /** The first parts of the documented paths, after the prefix, that belong to this entry. */
  paths: readonly string[];
  /** Returns whether this person sees the entry. Default: every person does. */
  when?(view: Frame): boolean;
}

interface Section {
  title?: string;
  entries: readonly Entry[];
}

/** The entries of the navigation. Other pages are reached from the pages of these entries. */
export const navigation: readonly Section[] = [
  {
    entries: [
      { href: '/', icon: 'house', text: texts.page.home, paths: ['home'] },
      { href: at('roles'), icon: 'key-round', text: texts.page.requestAccess, paths: ['roles', 'role', 'elevate'] },
      { href: at('inbox'), icon: 'inbox', text: texts.page.inbox, paths: ['approvals'] },
      { href: at('requests'), icon: 'clock', text: texts.page.requests, paths: ['executions', 'execution'] },
      { href: at('access'), icon: 'shield-check', text: texts.page.activeAccess, paths: ['access'] },
    ],
  },
  {
    title: texts.page.reference,
    entries: [
      { href: at('systems'), icon: 'server', text: texts.page.systems, paths: ['providers', 'provider'] },
      { href: at('workflows'), icon: 'workflow', text: texts.page.workflows, paths: ['workflows', 'workflow'] },
      { href: at('audit'), icon: 'scroll-text', text: texts.page.auditLog, paths: ['logs'] },
      {
        href: at('reviews'),
        icon: 'list-checks',
        text: texts.reviews.title,
        paths: ['reviews'],
        when: ({ oversight, reviews }) => oversight !== null || reviews === true,
      },
      { href: at('settings'), icon: 'bell', text: texts.settings.title, paths: ['preferences'] },
      {
        href: at('admin', 'access'),
        icon: 'settings',
        text: texts.admin.title,
        paths: ['admin'],
        when: ({ oversight }) => oversight !== null,
      },
    ],
  },
];

/** Renders the navigation and marks the entry of the current page. */
export function Navigation({ view }: { view: Frame }): VNode {
  const [, first = ''] = view.path.startsWith(view.basePath) ? view.path.slice(view.basePath.length).split('/') : [];
  return (
    <nav aria-label={texts.page.main}>
      {navigation.map(({ title, entries }, index) => {
        const seen = entries.filter(({ when }) => when === undefined || when(view));
        if (seen.length === 0) return null;
        return (
          <div class="side-section" key={index}>
            {title !== undefined && (
              <p class="side-head" id={`section-${index}`}>
                {title}
              </p>
            )}
            <ul aria-labelledby={title === undefined ? undefined : `section-${index}`}>
              {seen.map(({ href, icon, text, paths }) => (
                <li key={href}>
                  <a
                    class="side-link"
                    href={href}
                    aria-current={paths[0] === first ? 'page' : paths.includes(first) ? 'true' : undefined}
                  >
                    <Icon name={icon} />
                    {text}
                    {paths.includes('approvals') && <Waiting count={view.waiting} />}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

function Waiting({ count }: { count: number }): VNode {
  return (
    <span id="waiting" data-region>
      {count > 0 && (
        <span class="count">
          {count > 99 ? '99+' : count}
          <span class="hidden-text">{texts.page.waitingForYourDecision}</span>
        </span>
      )}
    </span>
  );
}
