import type { Execution } from './execution-state.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { type Page, to, type View } from './view.js';
import { durationInWords, listInWords } from './words.js';

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

/** What agreeing means, where the title does not say it. */
const meanings: Readonly<Record<string, string>> = {
  'executions.cancel': 'The workflow may clean up first. Access that came of the request ends now.',
  'executions.terminate':
    'The workflow stops where it is and cleans up nothing. Access that came of the request ends now.',
};

/** Asks before a link acts (design §14.3): a form that posts to the very same address. */
export function confirmPage(
  options: {
    title: string;
    procedure: string;
    /** The request that it is about, when there is one that the viewer may see. */
    execution: Execution | undefined;
    /** Path and query of the request. */
    address: string;
    /** What was asked, to show it. */
    fields: Readonly<Record<string, unknown>>;
  },
  view: View,
): Page {
  const { execution } = options;
  const meaning = meanings[options.procedure];
  const shown = Object.entries(options.fields).filter(([name]) => !sealed.has(name));
  return {
    title: options.title,
    narrow: true,
    content: (
      <>
        <p class="lead">Nothing has happened yet. Confirm it if this is what you want.</p>
        {meaning !== undefined && <p>{meaning}</p>}
        {execution !== undefined && (
          <Facts
            facts={[
              ['Role', execution.role],
              ['At', listInWords(execution.providers)],
              ['Reason', execution.reason === '' ? 'none given' : execution.reason],
              ['For', durationInWords(execution.duration)],
            ]}
          />
        )}
        {shown.length > 0 && (
          <Facts
            facts={shown.map(([name, value]) => [
              names[name] ?? name,
              name === 'id' ? (
                <code>{String(value)}</code>
              ) : Array.isArray(value) ? (
                value.join(', ')
              ) : (
                inWords(name, value)
              ),
            ])}
          />
        )}
        <PostForm action={options.address} view={view} once={view.once()}>
          <div class="actions">
            <button type="submit">{options.title}</button>
            <a
              class="button second"
              href={execution === undefined ? `${view.basePath}/home` : to(view, 'execution', execution.workflow_id)}
            >
              Leave it
            </a>
          </div>
        </PostForm>
      </>
    ),
  };
}

function inWords(name: string, value: unknown): string {
  return name === 'duration' ? durationInWords(String(value)) : String(value);
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
