import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';

const places = {
  loopback: 'A program on the computer that this browser runs on',
  own: 'A page of this server',
  listed: 'A service that an operator of this server has allowed',
} as const;

/** A program wants to be signed in as the viewer: which one, and where its code goes (RFC 8252, section 8.6). */
export function programPage(asked: Outputs['program']['page'], view: View): Page {
  const address = new URL(asked.callback);
  const action = to(view, 'auth', 'program');
  return {
    title: 'Sign in a program?',
    narrow: true,
    leadsTo: address.origin,
    content: (
      <>
        <p class="lead">
          A program wants to sign in as <strong>{view.viewer?.email}</strong>. It could then do everything that you may
          do here.
        </p>
        <Facts
          facts={[
            ['What asks', places[asked.place]],
            [
              'Address',
              <code>{asked.place === 'loopback' ? address.host : `${address.origin}${address.pathname}`}</code>,
            ],
            ['It calls itself', asked.label ?? 'It gives no name'],
            ['It asked at', <When at={asked.asked_at} view={view} />],
          ]}
        />
        <p>
          Belay has not checked what the program calls itself. Continue only if you started this sign-in yourself, just
          now, on this computer. If a web page, a mail or a message brought you here, cancel.
        </p>
        <PostForm action={action} view={view}>
          <input type="hidden" name="request" value={asked.request} />
          <div class="actions">
            <button type="submit" name="verdict" value="deny" class="second">
              Cancel
            </button>
            <button type="submit" name="verdict" value="approve">
              Sign in program
            </button>
          </div>
        </PostForm>
      </>
    ),
  };
}
