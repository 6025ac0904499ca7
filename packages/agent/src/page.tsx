import { createHash } from 'node:crypto';
import { showControls } from '@belay/console/controls';
import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { texts } from './texts.js';

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .8rem .4rem 0;border-bottom:1px solid #8884;vertical-align:top}
nav a{margin-right:1rem}td:first-child{font-weight:600}`;

/** The only style of these pages, by its hash: the policy allows no other style and no script. */
export const styleSource = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;

interface Column {
  title: string;
  of(row: Record<string, unknown>): unknown;
}

interface Listing {
  title: string;
  rows(output: never): Record<string, unknown>[];
  columns: Column[];
}

const field = (title: string, name: string): Column => ({ title, of: (row) => row[name] });

const { introduction, listings: titles } = texts;

/** The operations that have a page in agent and client mode. */
const listings: Readonly<Record<string, Listing>> = {
  'providers.list': {
    title: titles.providers.title,
    rows: (output: { providers: { _source: Record<string, unknown> }[] }) =>
      output.providers.map((each) => each._source),
    columns: [
      field(titles.providers.name, 'name'),
      field(titles.providers.kind, 'provider'),
      field(titles.providers.description, 'description'),
    ],
  },
  'roles.list': {
    title: titles.roles.title,
    rows: (output: { roles: Record<string, { role: Record<string, unknown> }> }) =>
      Object.values(output.roles).map(({ role }) => role),
    columns: [
      field(titles.roles.name, 'name'),
      field(titles.roles.description, 'description'),
      field(titles.roles.providers, 'providers'),
      field(titles.roles.duration, 'max_duration'),
    ],
  },
  'workflows.list': {
    title: titles.workflows.title,
    rows: (output: { workflows: Record<string, Record<string, unknown>> }) => Object.values(output.workflows),
    columns: [field(titles.workflows.name, 'name'), field(titles.workflows.description, 'description')],
  },
  'logs.list': {
    title: titles.logs.title,
    rows: (output: { logs: Record<string, unknown>[] }) => output.logs,
    columns: [
      field(titles.logs.time, 'timestamp'),
      field(titles.logs.level, 'level'),
      field(titles.logs.message, 'message'),
      field(titles.logs.user, 'user'),
    ],
  },
};

/** Returns the output of a procedure as a page; undefined when it has no page. */
export function renderLocal(procedure: string, output: unknown): string | undefined {
  const listing = listings[procedure];
  if (listing === undefined) return undefined;
  const rows = listing.rows(output as never);
  return render(
    listing.title,
    rows.length === 0 ? (
      <p>{texts.empty}</p>
    ) : (
      <table>
        <thead>
          <tr>
            {listing.columns.map(({ title }) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {listing.columns.map(({ title, of }) => (
                <td key={title}>{textOf(of(row))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    ),
  );
}

/** Returns the page at the root: what this program is, which addresses can be read, and where its server is. */
export function renderIntroduction(
  about: { serviceType: string; version: string; docsUrl: string; authEndpoint: string },
  routes: readonly { path: string; methods: ReadonlyMap<string, unknown> }[],
): string {
  const readable = routes
    .filter(({ path, methods }) => methods.has('GET') && !path.includes('{'))
    .map(({ path }) => path)
    .sort();
  const { origin } = new URL(about.authEndpoint);
  return render(
    introduction.title,
    <>
      <p>
        {introduction.mode(about.serviceType, about.version)}
        <a href={origin}>{origin}</a>
        {introduction.server}
      </p>
      <p>{introduction.readable}</p>
      <ul>
        {readable.map((path) => (
          <li key={path}>
            <a href={path}>{path}</a>
          </li>
        ))}
      </ul>
      <p>
        <code>{'belay agent status'}</code>
        {introduction.status}
        <a href={about.docsUrl}>{about.docsUrl}</a>.
      </p>
    </>,
  );
}

/** Returns a page with a short message. */
export function renderMessage(title: string, ...paragraphs: string[]): string {
  return render(
    title,
    paragraphs.map((paragraph) => <p key={paragraph}>{paragraph}</p>),
  );
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}

function render(title: string, content: ComponentChildren): string {
  return `<!doctype html>${showControls(renderToString(<Document title={title}>{content}</Document>))}`;
}

function Document({ title, children }: { title: string; children: ComponentChildren }): VNode {
  return (
    <html lang="en-GB">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{texts.document(title)}</title>
        <style>{style}</style>
      </head>
      <body>
        <main>
          <h1>{title}</h1>
          {children}
        </main>
      </body>
    </html>
  );
}
