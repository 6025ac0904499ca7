import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { assetPath } from '../assets.js';
import { texts } from '../texts.js';
import { PostForm } from './parts/form.js';
import { showControls } from './show-controls.js';
import type { Frame, Page } from './view.js';

const navigation = [
  { path: 'home', text: texts.page.home, also: [] },
  { path: 'roles', text: texts.page.requestAccess, also: ['role', 'elevate'] },
  { path: 'approvals', text: texts.page.inbox, also: [] },
  { path: 'executions', text: texts.page.requests, also: ['execution'] },
  { path: 'access', text: texts.page.activeAccess, also: [] },
  { path: 'workflows', text: texts.page.workflows, also: ['workflow'] },
  { path: 'providers', text: texts.page.systems, also: ['provider'] },
  { path: 'logs', text: texts.page.auditLog, also: [] },
] as const;

function Navigation({ view }: { view: Frame }): VNode {
  const [, first = ''] = view.path.startsWith(view.basePath) ? view.path.slice(view.basePath.length).split('/') : [];
  return (
    <nav aria-label={texts.page.main}>
      <ul>
        {navigation.map(({ path, text, also }) => {
          const here = path === first ? 'page' : (also as readonly string[]).includes(first) ? 'true' : undefined;
          return (
            <li key={path}>
              <a href={`${view.basePath}/${path}`} aria-current={here}>
                {text}
                {path === 'approvals' && <Waiting count={view.waiting} />}
              </a>
            </li>
          );
        })}
      </ul>
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

function Account({ view }: { view: Frame }): VNode | null {
  if (view.viewer === null) return null;
  return (
    <div class="account">
      <span class="account-name">
        <strong>{view.viewer.name}</strong>
        <span class="account-mail"> {view.viewer.email}</span>
      </span>
      <PostForm action={`${view.basePath}/auth/logout`} view={view}>
        <button type="submit" class="second small">
          {texts.page.signOut}
        </button>
      </PostForm>
    </div>
  );
}

function Mark(): VNode {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2.8">
      <path d="M11.5 6.5a6.5 6.5 0 0 1 10.5 5v9a6.5 6.5 0 0 1-13 0v-6" stroke-linecap="round" />
      <path d="m9 14.5 4-6.5" stroke-linecap="round" />
    </svg>
  );
}

function Document({ page, view }: { page: Page; view: Frame }): VNode {
  const { basePath } = view;
  const live = page.live;
  return (
    <html lang="en-GB" data-now={view.now?.toISOString()}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{texts.page.title(page.title)}</title>
        <link rel="stylesheet" href={assetPath(basePath, 'belay.css')} />
        <link rel="icon" type="image/svg+xml" href={assetPath(basePath, 'icon.svg')} />
        {live !== undefined && <script type="module" src={assetPath(basePath, 'live.js')} />}
      </head>
      <body>
        <a class="skip" href="#content">
          {texts.page.skipToContent}
        </a>
        <header class="top">
          <div class="top-row">
            <a class="brand" href={`${basePath}/home`}>
              <Mark />
              {texts.page.belay}
            </a>
            <Account view={view} />
            {view.viewer !== null && <Navigation view={view} />}
          </div>
        </header>
        <main
          id="content"
          tabIndex={-1}
          class={page.narrow === true ? 'narrow' : undefined}
          data-watch={live !== undefined && 'watch' in live ? live.watch : undefined}
          data-every={live !== undefined && 'every' in live ? live.every : undefined}
        >
          <h1>{page.title}</h1>
          {page.content}
        </main>
        <p
          id="news"
          class="hidden-text"
          role="status"
          data-signed-out={live === undefined ? undefined : texts.page.signedOut}
        />
        <footer class="foot">
          {texts.page.timesAreInUtc}{' '}
          <a class="foot-link" href={`${basePath}/reference`}>
            {texts.page.apiReference}
          </a>
        </footer>
      </body>
    </html>
  );
}

/** Renders a whole document. Preact escapes all of it; it contains no inline script or style, as the content security policy demands. */
export function renderPage(page: Page, view: Frame): string {
  return `<!doctype html>${showControls(renderToString(<Document page={page} view={view} />))}`;
}
