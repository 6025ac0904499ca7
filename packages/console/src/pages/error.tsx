import type { ErrorBody } from '@belay/rest';
import type { Frame, Page } from './view.js';

const titles: Readonly<Record<number, string>> = {
  400: 'This request cannot be read',
  401: 'Sign in first',
  403: 'This is not yours to do',
  404: 'Not found',
  405: 'Not this way',
  409: 'Too late, or already done',
  429: 'Too many requests',
  501: 'Not configured here',
  503: 'Not available now',
};

/** What went wrong, in the words of the error, and the id to ask about. */
export function errorPage(status: number, body: ErrorBody, requestId: string, view: Frame): Page {
  // What is about the whole request is said once.
  const issues = (body.issues ?? []).filter(({ path, message }) => path !== '' || message !== body.message);
  return {
    title: titles[status] ?? (status >= 500 ? 'Something went wrong' : 'This did not work'),
    narrow: true,
    content: (
      <>
        <p role="alert">{body.message}</p>
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
          <p>
            <a class="button" href={`${view.basePath}/auth`}>
              Sign in
            </a>
          </p>
        )}
        {view.path === `${view.basePath}/auth/device` && (
          <p>
            <a class="button" href={view.path}>
              Type the code again
            </a>
          </p>
        )}
        {view.viewer !== null && (
          <p>
            <a href={`${view.basePath}/home`}>To the start</a>
          </p>
        )}
        <p class="quiet">
          Reference <code>{requestId}</code>
        </p>
      </>
    ),
  };
}
