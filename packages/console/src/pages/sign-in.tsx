import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { PostForm } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';

type Sessions = Outputs['sessions']['list']['sessions'];

/** Renders the systems to sign in with. When there are several sessions, each has a button to end it. */
export function signInPage({ providers }: Outputs['auth']['page'], sessions: Sessions, view: View): Page {
  const several = Object.keys(sessions).length > 1;
  return {
    title: texts.signIn.signIn,
    narrow: true,
    lead: texts.signIn.lead,
    content: (
      <>
        {view.viewer !== null && (
          <p>
            {texts.signIn.youAreSignedInAs}
            <strong>{view.viewer.name}</strong>. <a href="/">{texts.signIn.continue}</a>
            {texts.signIn.orSignInAgain}
          </p>
        )}
        {providers.length === 0 ? (
          <p>{texts.signIn.empty}</p>
        ) : (
          <ul class="choices">
            {providers.map((provider) => (
              <li key={provider.id}>
                <a class={provider.id in sessions ? 'button second' : 'button'} href={provider.url}>
                  {texts.signIn.continueWith}
                  {provider.name}
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

/** Renders one of several sessions: its expiry and a button to end it alone. */
function Session(props: { id: string; name: string; sessions: Sessions; view: View }): VNode | null {
  const { id, name, view } = props;
  const session = props.sessions[id];
  if (session === undefined) return null;
  return (
    <div class="session">
      <p class="quiet">
        {texts.signIn.signedInUntil}
        <When at={session.expiry} view={view} />
      </p>
      <PostForm action={to(view, 'auth', 'logout', id)} view={view}>
        <button type="submit" class="second small">
          {texts.signIn.signOutOf}
          {name}
        </button>
      </PostForm>
    </div>
  );
}

/** Renders the result of a sign-in without a callback. */
export function signedInPage({ user }: { user: { name: string; email: string } }, _view: View): Page {
  return {
    title: texts.signIn.youAreSignedIn,
    narrow: true,
    content: (
      <>
        <p>
          {texts.signIn.signedInAs}
          <strong>{user.name}</strong> ({user.email}
          {texts.signIn.closeThisPage}
        </p>
        <p>
          <a class="button" href="/">
            {texts.signIn.home}
          </a>
        </p>
      </>
    ),
  };
}

/** Renders the result of signing out. */
export function signedOutPage({ message }: { message: string }, view: View): Page {
  // Home redirects people who are not signed in to the sign-in page and back.
  const again = view.viewer === null ? '/' : `${view.basePath}/auth`;
  return {
    title: texts.signIn.signedOut,
    narrow: true,
    content: (
      <>
        <p role="status">{message}.</p>
        <p>
          {view.viewer !== null && (
            <a class="button" href="/">
              {texts.signIn.home}
            </a>
          )}{' '}
          <a class={view.viewer === null ? 'button' : 'button second'} href={again}>
            {texts.signIn.signInAgain}
          </a>
        </p>
      </>
    ),
  };
}
