import type { ErrorBody } from '@belay/contract/errors';
import type { VNode } from 'preact';
import { texts } from '../texts.js';
import type { Frame, Page } from './view.js';

const titles: Readonly<Record<number, string>> = {
  400: texts.error.invalid,
  401: texts.error.signInRequired,
  403: texts.error.notAllowed,
  404: texts.error.notFound,
  405: texts.error.methodNotAllowed,
  409: texts.error.noLongerPossible,
  429: texts.error.tooManyRequests,
  501: texts.error.notConfigured,
  503: texts.error.unavailable,
};

/** Renders an error with its message and the request id. */
export function errorPage(status: number, body: ErrorBody, requestId: string, view: Frame): Page {
  // The server rejected the whole form, because its sender's login is not valid, or is not the login that the form was made for.
  const formPage = status === 401 || status === 403 ? view.sentFrom : undefined;
  // Leave out an issue of the whole request that repeats the message.
  const issues = (body.issues ?? []).filter(({ path, message }) => path !== '' || message !== body.message);
  return {
    title: titles[status] ?? (status >= 500 ? texts.error.serverError : texts.error.failed),
    narrow: true,
    scripts: formPage === undefined ? [] : ['drafts.js'],
    content: (
      <>
        <p role="alert">{body.message}</p>
        {formPage !== undefined && (
          <p id="draft-kept" hidden>
            {status === 401 ? texts.draft.keptUntilSignIn : texts.draft.kept}
          </p>
        )}
        {view.sealed !== undefined && <Sealed form={view.sealed} view={view} />}
        {issues.length > 0 && (
          <ul>
            {issues.map((issue) => (
              <li key={`${issue.path} ${issue.message}`}>
                {issue.path !== '' && <code>{issue.path}</code>} {issue.message}
              </li>
            ))}
          </ul>
        )}
        {status === 401 && (
          <p id="sign-in" hidden={view.sealed !== undefined}>
            <a class="button" href={formPage?.signIn ?? `${view.basePath}/auth`}>
              {texts.error.signIn}
            </a>
          </p>
        )}
        {status === 403 && formPage !== undefined && (
          <p>
            <a class="button" href={formPage.path}>
              {texts.draft.openForm}
            </a>
          </p>
        )}
        {view.path === `${view.basePath}/auth/device` && (
          <p>
            <a class="button" href={view.path}>
              {texts.error.enterCodeAgain}
            </a>
          </p>
        )}
        {view.viewer !== null && (
          <p>
            <a href="/">{texts.error.home}</a>
          </p>
        )}
        <p class="quiet">
          {texts.error.reference}
          <code>{requestId}</code>
        </p>
      </>
    ),
  };
}

/**
 * Renders how to continue with a form that was not sent: sign in on another tab, and then open the form from here. The form is sealed, so
 * that this page shows nothing of it. A script that keeps the form in the tab hides this section (static/drafts.js).
 */
function Sealed({ form, view }: { form: string; view: Frame }): VNode {
  return (
    <section id="unsent" aria-labelledby="unsent-head" class="state warn">
      <h2 id="unsent-head">{texts.draft.nothingSent}</h2>
      <p>{texts.draft.sealed}</p>
      <div class="actions">
        <a class="button" href={`${view.basePath}/auth`} target="_blank" rel="noopener">
          {texts.draft.signInBeside}
        </a>
        <form method="post" action={`${view.basePath}/unsent`}>
          <input type="hidden" name="form" value={form} autocomplete="off" />
          <button type="submit" class="second">
            {texts.draft.openForm}
          </button>
        </form>
      </div>
    </section>
  );
}
