import type { VNode } from 'preact';
import { PostForm } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';

type Sessions = Outputs['sessions']['list']['sessions'];

/** The providers one can sign in with, as links; with those that one is signed in with, until when, and a way out. */
export function signInPage({ providers }: Outputs['auth']['page'], sessions: Sessions, view: View): Page {
  const several = Object.keys(sessions).length > 1;
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
            sign in with another or again:
          </p>
        )}
        {providers.length === 0 ? (
          <p>No provider to sign in with is configured, or none can be reached now.</p>
        ) : (
          <ul class="choices">
            {providers.map((provider) => (
              <li key={provider.id}>
                <a class={provider.id in sessions ? 'button second' : 'button'} href={provider.url}>
                  Continue with {provider.name}
                </a>
                {provider.description !== '' && <p class="quiet">{provider.description}</p>}
                <Session id={provider.id} name={provider.name} sessions={several ? sessions : {}} view={view} />
              </li>
            ))}
          </ul>
        )}
      </>
    ),
  };
}

/** A session beside others: until when it lasts, and how to leave it alone. */
function Session(props: { id: string; name: string; sessions: Sessions; view: View }): VNode | null {
  const { id, name, view } = props;
  const session = props.sessions[id];
  if (session === undefined) return null;
  return (
    <div class="session">
      <p class="quiet">
        Signed in until <When at={session.expiry} view={view} />
      </p>
      <PostForm action={to(view, 'auth', 'logout', id)} view={view}>
        <button type="submit" class="second small">
          Sign out of {name}
        </button>
      </PostForm>
    </div>
  );
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
  // Home sends people who are not signed in to the sign-in and back.
  const again = view.viewer === null ? 'home' : 'auth';
  return {
    title: 'Signed out',
    narrow: true,
    content: (
      <>
        <p role="status">{message}.</p>
        <p>
          {view.viewer !== null && (
            <a class="button" href={`${view.basePath}/home`}>
              To the start
            </a>
          )}{' '}
          <a class={view.viewer === null ? 'button' : 'button second'} href={`${view.basePath}/${again}`}>
            Sign in again
          </a>
        </p>
      </>
    ),
  };
}
