import type { VNode } from 'preact';
import { Facts } from './parts/facts.js';
import { Field, PostForm, Refused, sent } from './parts/form.js';
import { AskForm } from './role.js';
import { decided, permitted, type RoleDetails, type Workflows } from './roles.js';
import { type Page, to, type View } from './view.js';
import { durationInWords, listInWords } from './words.js';

interface Suggested {
  suggested_role: string;
  suggested_duration: string;
  suggested_providers: string[];
}

/** What POST /elevate/llm answers. */
export interface Suggestion {
  status: string;
  output: Suggested & { matched?: string[]; alternatives?: Suggested[] };
}

/** A place to say in words what one needs (interface, GET /elevate/llm). */
export function describePage(view: View): Page {
  return {
    title: 'Say what you need',
    content: (
      <>
        <p class="lead">
          In a sentence or two, and for how long. You get a suggestion to look at and change; nothing is asked for, and
          nothing granted, until you ask for it.
        </p>
        <div class="card">
          <DescribeForm view={view} text={sent(view, 'reason')} />
        </div>
        <p class="after">
          Or <a href={`${view.basePath}/roles`}>choose a role yourself</a>.
        </p>
      </>
    ),
  };
}

function DescribeForm({ view, text }: { view: View; text?: string }): VNode {
  return (
    <PostForm action={`${view.basePath}/elevate/llm`} view={view}>
      <Refused view={view} labels={{ reason: 'What you need it for' }} />
      <Field
        view={view}
        name="reason"
        label="What you need it for"
        control={(ties) => (
          <textarea {...ties} rows={3} maxLength={4000} required>
            {text}
          </textarea>
        )}
      />
      <button type="submit">Suggest a role</button>
    </PostForm>
  );
}

/** The suggestion as a form to ask with; it is the person who asks, and every rule of the role holds as ever. */
export function suggestionPage(
  { output }: Suggestion,
  found: { role: RoleDetails | undefined; workflows: Workflows },
  view: View,
): Page {
  const { role, workflows } = found;
  const reason = typeof view.input.reason === 'string' ? view.input.reason : '';
  if (role === undefined) {
    return {
      title: 'Nothing fits',
      content: (
        <>
          <p class="lead" role="status">
            No role that you may ask for fits these words. Say it in others, or{' '}
            <a href={`${view.basePath}/roles`}>choose a role yourself</a>.
          </p>
          <div class="card">
            <DescribeForm view={view} text={reason} />
          </div>
        </>
      ),
    };
  }
  const { matched = [], alternatives = [] } = output;
  return {
    title: `Suggested: ${role.name}`,
    content: (
      <>
        <p class="lead">Nothing has been asked for yet. Look at it, change what is not right, and ask.</p>
        <div class="columns">
          <section aria-labelledby="what">
            <h2 id="what">What it is</h2>
            <p>{role.description}</p>
            <Facts
              facts={[
                permitted(role, view),
                decided(role, workflows),
                matched.length > 0 && ['Because of', listInWords(matched)],
              ]}
            />
            <p>
              Not what you meant? <a href={`${view.basePath}/elevate/llm`}>Say it in other words</a>, or{' '}
              <a href={`${view.basePath}/roles`}>choose a role yourself</a>.
            </p>
            {alternatives.length > 0 && (
              <>
                <h2>It could also be</h2>
                <ul>
                  {alternatives.map((each) => (
                    <li key={each.suggested_role}>
                      <a href={to(view, 'role', each.suggested_role)}>{each.suggested_role}</a> for{' '}
                      {durationInWords(each.suggested_duration)}
                    </li>
                  ))}
                </ul>
              </>
            )}
          </section>
          <section aria-labelledby="ask" class="card">
            <h2 id="ask">Ask for it</h2>
            <AskForm
              role={role}
              workflows={workflows}
              preset={{ reason, duration: output.suggested_duration, providers: output.suggested_providers }}
              view={view}
            />
          </section>
        </div>
      </>
    ),
  };
}
