import { texts } from '../texts.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';

const places = {
  loopback: texts.program.aProgramOnTheComputerThat,
  own: texts.program.aPageOfThisServer,
  listed: texts.program.aServiceThatAnOperatorOf,
} as const;

/** A program wants to be signed in as the viewer: which one, and where its code goes (RFC 8252, section 8.6). */
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
          {texts.program.itCouldThenDoEverythingThat}
        </p>
        <Facts
          facts={[
            [texts.program.whatAsks, places[asked.place]],
            [
              texts.program.address,
              <code>{asked.place === 'loopback' ? address.host : `${address.origin}${address.pathname}`}</code>,
            ],
            [texts.program.itCallsItself, asked.label ?? texts.program.itGivesNoName],
            [texts.program.itAskedAt, <When at={asked.asked_at} view={view} />],
          ]}
        />
        <p>{texts.program.belayHasNotCheckedWhatThe}</p>
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
