import { limits } from '@belay/contract/limits';
import { texts } from '../texts.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { When } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';

/** Renders the page to confirm the code of a device without a browser (RFC 8628, section 3.3). */
export function devicePage({ request }: Outputs['device']['page'], view: View): Page {
  const action = to(view, 'auth', 'device');
  if (request === null) {
    return {
      title: texts.device.title,
      narrow: true,
      content: (
        <form method="get" action={action}>
          <p class="lead">{texts.device.lead}</p>
          <div class="field">
            <label for="user_code">{texts.device.code}</label>
            <input
              id="user_code"
              name="user_code"
              required
              maxLength={limits.userCode}
              autocomplete="off"
              spellcheck={false}
            />
          </div>
          <div class="actions">
            <button type="submit">{texts.device.reviewDevice}</button>
          </div>
        </form>
      ),
    };
  }
  return {
    title: texts.device.question,
    narrow: true,
    content: (
      <>
        <p class="lead">
          {texts.device.aProgramWantsToSignIn}
          <strong>{view.viewer?.email}</strong>
          {texts.device.consequence}
        </p>
        <Facts
          facts={[
            [texts.device.code, <code>{request.user_code}</code>],
            [texts.device.unverifiedName, request.label],
            [texts.device.requested, <When at={request.asked_at} view={view} />],
          ]}
        />
        <p>{texts.device.warning}</p>
        <PostForm action={action} view={view}>
          <input type="hidden" name="user_code" value={request.user_code} />
          <div class="actions">
            <button type="submit" name="verdict" value="deny" class="second">
              {texts.device.reject}
            </button>
            <button type="submit" name="verdict" value="approve">
              {texts.device.approve}
            </button>
          </div>
        </PostForm>
      </>
    ),
  };
}

/** Renders the result of the decision. */
export function deviceDonePage({ message }: { message: string }): Page {
  return { title: texts.device.done, narrow: true, content: <p role="status">{message}</p> };
}
