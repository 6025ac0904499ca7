import { texts } from '../texts.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';

const places = {
  loopback: texts.program.loopback,
  own: texts.program.own,
  listed: texts.program.listed,
} as const;

/** Renders the page to confirm that a program signs in as the viewer, with the address that gets its code (RFC 8252, section 8.6). */
export function programPage(asked: Outputs['program']['page'], view: View): Page {
  const address = new URL(asked.callback);
  const action = to(view, 'auth', 'program');
  return {
    title: texts.program.signInAProgram,
    narrow: true,
    leadsTo: address.origin,
    content: (
      <>
        <p class="lead">
          {texts.program.aProgramWantsToSignIn}
          <strong>{view.viewer?.email}</strong>
          {texts.program.consequence}
        </p>
        <Facts
          facts={[
            [texts.program.program, places[asked.place]],
            [
              texts.program.address,
              <code>{asked.place === 'loopback' ? address.host : `${address.origin}${address.pathname}`}</code>,
            ],
            [texts.program.unverifiedName, asked.label ?? texts.program.noName],
            [texts.program.requested, <When at={asked.asked_at} view={view} />],
          ]}
        />
        <p>{texts.program.warning}</p>
        <PostForm action={action} view={view}>
          <input type="hidden" name="request" value={asked.request} />
          <div class="actions">
            <button type="submit" name="verdict" value="deny" class="second">
              {texts.program.cancel}
            </button>
            <button type="submit" name="verdict" value="approve">
              {texts.program.signInProgram}
            </button>
          </div>
        </PostForm>
      </>
    ),
  };
}
