import type { Outputs, Page, View } from './view.js';

/** The providers one can sign in with, as links. */
export function signInPage({ providers }: Outputs['auth']['page'], view: View): Page {
  return {
    title: 'Sign in',
    narrow: true,
    content: (
      <>
        <p class="lead">
          Access when you need it: asked for, approved by somebody else, for a stated time, and always taken away again.
        </p>
        {view.viewer !== null && (
          <p>
            You are signed in as <strong>{view.viewer.name}</strong>. <a href={`${view.basePath}/home`}>Go on</a>, or
            sign in again:
          </p>
        )}
        {providers.length === 0 ? (
          <p>No provider to sign in with is configured, or none can be reached now.</p>
        ) : (
          <ul class="choices">
            {providers.map((provider) => (
              <li key={provider.id}>
                <a class="button" href={provider.url}>
                  Continue with {provider.name}
                </a>
                {provider.description !== '' && <p class="quiet">{provider.description}</p>}
              </li>
            ))}
          </ul>
        )}
      </>
    ),
  };
}

/** After a sign-in that asked for no other place to go. */
export function signedInPage({ user }: { user: { name: string; email: string } }, view: View): Page {
  return {
    title: 'You are signed in',
    narrow: true,
    content: (
      <>
        <p>
          Signed in as <strong>{user.name}</strong> ({user.email}). You can close this page, or go on here.
        </p>
        <p>
          <a class="button" href={`${view.basePath}/home`}>
            To the start
          </a>
        </p>
      </>
    ),
  };
}

/** After signing out. */
export function signedOutPage({ message }: { message: string }, view: View): Page {
  return {
    title: 'Signed out',
    narrow: true,
    content: (
      <>
        <p role="status">{message}</p>
        <p>
          <a class="button" href={`${view.basePath}/auth?callback=${encodeURIComponent(`${view.basePath}/home`)}`}>
            Sign in again
          </a>
        </p>
      </>
    ),
  };
}
