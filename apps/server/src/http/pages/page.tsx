import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';

export interface Page {
  title: string;
  content: ComponentChildren;
}

/** Address of the one stylesheet, under the prefix so that a proxy which forwards only that still has it. */
export function stylesheetPath(basePath: string): string {
  return `${basePath}/assets/belay.css`;
}

function Document({ page, basePath }: { page: Page; basePath: string }): VNode {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{`${page.title} · Belay`}</title>
        <link rel="stylesheet" href={stylesheetPath(basePath)} />
      </head>
      <body>
        <main>
          <p class="house">Belay</p>
          <h1>{page.title}</h1>
          {page.content}
        </main>
      </body>
    </html>
  );
}

/** A whole document. Everything in it is escaped by preact; there is no script and no inline style, so a strict policy holds. */
export function renderPage(page: Page, basePath: string): string {
  return `<!doctype html>${renderToString(<Document page={page} basePath={basePath} />)}`;
}
