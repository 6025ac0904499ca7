import type { Page } from './page.js';

/** Names of a request's fields that nobody reads: sealed tokens. */
const sealed = new Set(['state', 'input', 'session']);

/** Asks before a link acts (design §14.3): a form that posts to the very same address. */
export function confirmPage(options: {
  title: string;
  /** Path and query of the request. */
  address: string;
  token: string;
  /** What was asked, to show it. */
  fields: Readonly<Record<string, unknown>>;
}): Page {
  const shown = Object.entries(options.fields).filter(([name]) => !sealed.has(name));
  return {
    title: options.title,
    content: (
      <>
        <p>A link brought you here. Nothing has happened yet.</p>
        {shown.length > 0 && (
          <dl>
            {shown.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{Array.isArray(value) ? value.join(', ') : String(value)}</dd>
              </div>
            ))}
          </dl>
        )}
        <form method="post" action={options.address}>
          <input type="hidden" name="csrf_token" value={options.token} />
          <button type="submit">{options.title}</button>
        </form>
      </>
    ),
  };
}

/** After a confirmed act. */
export function donePage({ message }: { message: string }, next: string | undefined): Page {
  return {
    title: 'Done',
    content: (
      <>
        <p role="status">{message}</p>
        {next !== undefined && (
          <p>
            <a href={next}>See the request</a>
          </p>
        )}
      </>
    ),
  };
}
