import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';

/** A machine without a browser shows a code; here its person says that it was them (RFC 8628, section 3.3). */
export function devicePage({ request }: Outputs['device']['page'], view: View): Page {
  const action = to(view, 'auth', 'device');
  if (request === null) {
    return {
      title: 'Sign in another machine',
      narrow: true,
      content: (
        <form method="get" action={action}>
          <p class="lead">Type the code that your own terminal shows, and nobody else’s.</p>
          <div class="field">
            <label for="user_code">Code</label>
            <input id="user_code" name="user_code" required maxlength={9} autocomplete="off" spellcheck={false} />
          </div>
          <div class="actions">
            <button type="submit">Look what asks</button>
          </div>
        </form>
      ),
    };
  }
  return {
    title: 'Is this you?',
    narrow: true,
    content: (
      <>
        <p class="lead">
          A program wants to sign in as <strong>{view.viewer?.email}</strong>. It could then do everything that you may
          do here.
        </p>
        <Facts
          facts={[
            ['Code', <code>{request.user_code}</code>],
            ['It calls itself', request.label],
            ['It asked at', <When at={request.asked_at} view={view} />],
          ]}
        />
        <p>
          Nobody has checked what it calls itself. Go on only if you began this yourself, just now, and your terminal
          shows this very code. If somebody sent you the code or a link, by mail, chat or telephone, refuse it: that is
          how logins are stolen.
        </p>
        <PostForm action={action} view={view}>
          <input type="hidden" name="user_code" value={request.user_code} />
          <div class="actions">
            <button type="submit" name="verdict" value="deny" class="second">
              Refuse it
            </button>
            <button type="submit" name="verdict" value="approve">
              I began this; sign it in
            </button>
          </div>
        </PostForm>
      </>
    ),
  };
}

/** After the decision. */
export function deviceDonePage({ message }: { message: string }): Page {
  return { title: 'Done', narrow: true, content: <p role="status">{message}</p> };
}
