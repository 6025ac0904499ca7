import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { assetPath } from '../assets.js';
import { texts } from '../texts.js';
import { Navigation } from './navigation.js';
import { PostForm } from './parts/form.js';
import { Icon } from './parts/icon.js';
import { Avatar } from './parts/people.js';
import { showControls } from './show-controls.js';
import type { Frame, Page } from './view.js';

function Account({ view }: { view: Frame }): VNode | null {
  if (view.viewer === null) return null;
  return (
    <div class="account">
      <Avatar name={view.viewer.name} />
      <span class="account-name">
        <strong>{view.viewer.name}</strong>
        <span class="account-mail"> {view.viewer.email}</span>
      </span>
      <PostForm action={`${view.basePath}/auth/logout`} view={view}>
        <button type="submit" class="bare square" title={texts.page.signOut}>
          <Icon name="log-out" />
          <span class="hidden-text">{texts.page.signOut}</span>
        </button>
      </PostForm>
    </div>
  );
}

function Mark(): VNode {
  return (
    <span class="brand-mark">
      <svg viewBox="0 0 32 32" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="3">
        <path d="M11.5 6.5a6.5 6.5 0 0 1 10.5 5v9a6.5 6.5 0 0 1-13 0v-6" stroke-linecap="round" />
        <path d="m9 14.5 4-6.5" stroke-linecap="round" />
      </svg>
    </span>
  );
}

/** Renders the name, the search and the navigation, which is a menu on small screens and at the side on others. */
function Top({ view }: { view: Frame }): VNode {
  return (
    <>
      <header class="top">
        <a class="brand" href="/">
          <Mark />
          {texts.page.belay}
        </a>
        {view.viewer !== null && (
          <>
            <a class="find" href="/search" data-palette data-label={texts.search.label}>
              <Icon name="search" />
              <span>{texts.page.search}</span>
              <b class="hidden-text">{texts.page.searchEverything}</b>
              <span class="key" aria-hidden="true" data-command-key>
                {texts.page.commandKey}
              </span>
            </a>
            <button type="button" class="second menu-button" popovertarget="menu">
              <Icon name="menu" />
              <span class="hidden-text">{texts.page.menu}</span>
            </button>
          </>
        )}
      </header>
      {view.viewer !== null && (
        <aside class="side" id="menu" popover="auto" aria-label={texts.page.menu}>
          <Navigation view={view} />
          <Account view={view} />
        </aside>
      )}
    </>
  );
}

function Head({ page }: { page: Page }): VNode {
  return (
    <div class="page-head">
      {page.crumbs !== undefined && (
        <nav aria-label={texts.page.path}>
          <ol class="crumbs">
            {page.crumbs.map(({ href, text }) => (
              <li key={href}>
                <a href={href}>{text}</a>
                <Icon name="chevron-right" />
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="page-head-row">
        <div class="page-title">
          <h1>{page.title}</h1>
          {page.mark}
        </div>
        {page.actions !== undefined && <div class="actions">{page.actions}</div>}
      </div>
      {page.lead !== undefined && <p class="lead">{page.lead}</p>}
    </div>
  );
}

function Document({ page, view }: { page: Page; view: Frame }): VNode {
  const { basePath } = view;
  const live = page.live;
  // Without a signed-in person, these scripts have nothing to do.
  const shell = view.viewer === null ? [] : ['shell.js', 'drafts.js'];
  const scripts = new Set([...shell, ...(live === undefined ? [] : ['live.js']), ...(page.scripts ?? [])]);
  const width = page.narrow === true ? 'narrow' : page.wide === true ? 'wide' : undefined;
  return (
    <html
      lang="en-GB"
      data-now={view.now?.toISOString()}
      data-person={view.viewer?.email}
      data-draft={texts.draft.restored}
    >
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{texts.page.title(page.title, view.waiting)}</title>
        <link rel="stylesheet" href={assetPath(basePath, 'belay.css')} />
        <link rel="icon" type="image/svg+xml" href={assetPath(basePath, 'icon.svg')} />
        {[...scripts].map((name) => (
          <script key={name} type="module" src={assetPath(basePath, name)} />
        ))}
      </head>
      <body class={view.viewer === null ? 'outside' : undefined}>
        <a class="skip" href="#content">
          {texts.page.skipToContent}
        </a>
        <Top view={view} />
        <div class="frame">
          <main
            id="content"
            tabIndex={-1}
            class={width}
            data-watch={live !== undefined && 'watch' in live ? live.watch : undefined}
            data-every={live !== undefined && 'every' in live ? live.every : undefined}
          >
            <Head page={page} />
            {page.content}
          </main>
          <p
            id="news"
            class="hidden-text"
            role="status"
            data-signed-out={live === undefined ? undefined : texts.page.signedOut}
          />
          <footer class="foot">
            <span id="zone" data-local={texts.page.timesAreLocal}>
              {texts.page.timesAreInUtc}
            </span>
            <a href={`${basePath}/reference`}>{texts.page.apiReference}</a>
          </footer>
        </div>
      </body>
    </html>
  );
}

/**
 * Renders a whole document. Preact escapes its texts. It has no inline script or style, because the content security policy forbids them.
 */
export function renderPage(page: Page, view: Frame): string {
  return `<!doctype html>${showControls(renderToString(<Document page={page} view={view} />))}`;
}
