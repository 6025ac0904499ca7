import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import type { Page, View } from './view.js';

/** Names of a request's fields that nobody reads: sealed tokens. */
const sealed = new Set(['state', 'input', 'session']);

const names: Readonly<Record<string, string>> = {
  id: 'Request',
  role: 'Role',
  provider: 'Provider',
  reason: 'Reason',
  duration: 'How long',
  workflow: 'Workflow',
  identities: 'For whom',
};

/** Asks before a link acts (design §14.3): a form that posts to the very same address. */
export function confirmPage(
  options: {
    title: string;
    /** Path and query of the request. */
    address: string;
    /** What was asked, to show it. */
    fields: Readonly<Record<string, unknown>>;
  },
  view: View,
): Page {
  const shown = Object.entries(options.fields).filter(([name]) => !sealed.has(name));
  return {
    title: options.title,
    narrow: true,
    content: (
      <>
        <p class="lead">Nothing has happened yet. Confirm it if this is what you want.</p>
        {shown.length > 0 && (
          <Facts
            facts={shown.map(([name, value]) => [
              names[name] ?? name,
              Array.isArray(value) ? value.join(', ') : String(value),
            ])}
          />
        )}
        <PostForm action={options.address} view={view} once={view.once()}>
          <div class="actions">
            <button type="submit">{options.title}</button>
            <a class="button second" href={`${view.basePath}/home`}>
              Leave it
            </a>
          </div>
        </PostForm>
      </>
    ),
  };
}

/** After a confirmed act. */
export function donePage({ message }: { message: string }, next: string | undefined): Page {
  return {
    title: 'Done',
    narrow: true,
    content: (
      <>
        <p role="status">{message}</p>
        {next !== undefined && (
          <p>
            <a class="button" href={next}>
              See the request
            </a>
          </p>
        )}
      </>
    ),
  };
}
