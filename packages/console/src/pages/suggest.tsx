import { limits } from '@belay/contract/limits';
import type { Suggestion } from '@belay/contract/suggestions';
import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { Facts } from './parts/facts.js';
import { Field, PostForm, Refused, sent } from './parts/form.js';
import { AskForm } from './role.js';
import { decided, permitted, type RoleDetails, type Workflows } from './roles.js';
import type { Page, View } from './view.js';
import { durationInWords, listInWords } from './words.js';

/** Renders the form to describe a need in words (GET /elevate/llm). */
export function describePage(view: View): Page {
  return {
    title: texts.suggest.title,
    lead: texts.suggest.lead,
    crumbs: [{ href: at('roles'), text: texts.roles.title }],
    content: (
      <>
        <div class="card">
          <DescribeForm view={view} text={sent(view, 'reason')} />
        </div>
        <p class="after">
          {texts.suggest.or}
          <a href={at('roles')}>{texts.suggest.chooseRole}</a>.
        </p>
      </>
    ),
  };
}

function DescribeForm({ view, text }: { view: View; text?: string }): VNode {
  return (
    <PostForm action={`${view.basePath}/elevate/llm`} view={view} keeps>
      <Refused view={view} labels={{ reason: texts.suggest.need }} />
      <Field
        view={view}
        name="reason"
        label={texts.suggest.need}
        control={(ties) => (
          <textarea {...ties} rows={3} maxLength={limits.reason} required>
            {text}
          </textarea>
        )}
      />
      <button type="submit">{texts.suggest.suggestRole}</button>
    </PostForm>
  );
}

/** Renders the suggestion as a form. The person sends the request, and all rules of the role apply. */
export function suggestionPage(
  { output }: Suggestion,
  found: { role: RoleDetails | undefined; workflows: Workflows },
  view: View,
): Page {
  const { role, workflows } = found;
  const reason = typeof view.input.reason === 'string' ? view.input.reason : '';
  if (role === undefined) {
    return {
      title: texts.suggest.noMatch,
      content: (
        <>
          <p class="lead" role="status">
            {texts.suggest.noMatchLead} <a href={at('roles')}>{texts.suggest.chooseRole}</a>.
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
    title: texts.suggest.suggested(role.name),
    lead: texts.suggest.suggestionLead,
    crumbs: [{ href: at('roles'), text: texts.roles.title }],
    content: (
      <>
        <div class="columns">
          <section aria-labelledby="what">
            <h2 id="what">{texts.suggest.details}</h2>
            <p>{role.description}</p>
            <Facts
              facts={[
                permitted(role),
                decided(role, workflows),
                matched.length > 0 && [texts.suggest.matchedWords, listInWords(matched)],
              ]}
            />
            <p>
              {texts.suggest.wrongSuggestion}
              <a href={`${view.basePath}/elevate/llm`}>{texts.suggest.rephrase}</a>
              {texts.suggest.or2} <a href={at('roles')}>{texts.suggest.chooseRole}</a>.
            </p>
            {alternatives.length > 0 && (
              <>
                <h2>{texts.suggest.otherMatches}</h2>
                <ul>
                  {alternatives.map((each) => (
                    <li key={each.suggested_role}>
                      <a href={at('roles', each.suggested_role)}>{each.suggested_role}</a>
                      {texts.suggest.for} {durationInWords(each.suggested_duration)}
                    </li>
                  ))}
                </ul>
              </>
            )}
          </section>
          <section aria-labelledby="ask" class="card">
            <h2 id="ask">{texts.suggest.requestAccess}</h2>
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
