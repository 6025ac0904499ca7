import { at } from '../paths.js';
import { texts } from '../texts.js';
import type { Execution } from './execution-state.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import type { Page, View } from './view.js';
import { durationInWords, listInWords } from './words.js';

/** Fields with sealed tokens, which are not shown. */
const sealed = new Set(['state', 'input', 'session']);

const names: Readonly<Record<string, string>> = {
  id: texts.confirm.request,
  role: texts.confirm.role,
  provider: texts.confirm.provider,
  reason: texts.confirm.reason,
  duration: texts.confirm.duration,
  workflow: texts.confirm.workflow,
  identities: texts.confirm.recipients,
};

/** The effects of confirmed actions whose title does not explain them. */
const meanings: Readonly<Record<string, string>> = {
  'executions.cancel': texts.confirm.cancelMeans,
  'executions.terminate': texts.confirm.terminateMeans,
};

/** Renders the confirmation before a link acts (docs/interface.md, section 16, rule 3): a form that posts to the same address. */
export function confirmPage(
  options: {
    title: string;
    procedure: string;
    /** The execution that the action is about, if the viewer can see it. */
    execution: Execution | undefined;
    /** Path and query of the request. */
    address: string;
    /** The fields of the HTTP request, which the page shows. */
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
        <p class="lead">{texts.confirm.lead}</p>
        {meaning !== undefined && <p>{meaning}</p>}
        {execution !== undefined && (
          <Facts
            facts={[
              [texts.confirm.role, execution.role],
              [texts.confirm.systems, listInWords(execution.providers)],
              [texts.confirm.reason, execution.reason === '' ? texts.confirm.noneGiven : execution.reason],
              [texts.confirm.grantedFor, durationInWords(execution.duration)],
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
            <a class="button second" href={execution === undefined ? '/' : at('requests', execution.workflow_id)}>
              {texts.confirm.goBack}
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

/** Renders the result of a confirmed action. */
export function donePage({ message }: { message: string }, next: string | undefined): Page {
  return {
    title: texts.confirm.done,
    narrow: true,
    content: (
      <>
        <p role="status">{message}</p>
        {next !== undefined && (
          <p>
            <a class="button" href={next}>
              {texts.confirm.viewRequest}
            </a>
          </p>
        )}
      </>
    ),
  };
}
