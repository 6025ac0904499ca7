import type { Page } from './page.js';

interface Choice {
  id: string;
  name: string;
  description: string;
  url: string;
}

/** The providers one can sign in with, as links. */
export function signInPage({ providers }: { providers: readonly Choice[] }): Page {
  return {
    title: 'Sign in',
    content:
      providers.length === 0 ? (
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
      ),
  };
}

/** After a sign-in that asked for no other place to go. */
export function signedInPage({ user }: { user: { name: string; email: string } }): Page {
  return {
    title: 'You are signed in',
    content: (
      <p>
        Signed in as <strong>{user.name}</strong> ({user.email}). You can close this page.
      </p>
    ),
  };
}

/** After signing out. */
export function signedOutPage({ message }: { message: string }, basePath: string): Page {
  return {
    title: 'Signed out',
    content: (
      <>
        <p>{message}</p>
        <p>
          <a href={`${basePath}/auth`}>Sign in again</a>
        </p>
      </>
    ),
  };
}
