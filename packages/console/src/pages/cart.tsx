import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { Field, PostForm, Refused, sent } from './parts/form.js';
import { Icon } from './parts/icon.js';
import { Empty, Row } from './parts/list.js';
import { EmergencyMark } from './parts/status.js';
import { Glyph } from './parts/system.js';
import type { RoleDetails } from './roles.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { durationInWords } from './words.js';

/** The durations that are offered for all roles. If one is too long for a role, the result of that role says so. */
const durations = ['PT15M', 'PT30M', 'PT1H', 'PT2H', 'PT4H', 'PT8H'];

interface Picked {
  /** `<provider>:<role>`, as in the request. */
  item: string;
  provider: string;
  role: RoleDetails;
}

/** Returns the selected roles that exist: each item is `<role>`, or `<provider>:<role>` for one of the role's systems. */
export function readPicked(view: View, roles: Outputs['roles']['list']['roles']): Picked[] {
  const { roles: given = [] } = view.input;
  const items = (Array.isArray(given) ? given : [given]).map(String);
  return [...new Set(items)].slice(0, limits.roles).flatMap((item) => {
    const [, provider = '', name = item] = /^([^:]+):(.*)$/s.exec(item) ?? [];
    const role = roles[item]?.role ?? roles[name]?.role;
    return role === undefined ? [] : [{ item, provider: provider || (role.providers[0] ?? ''), role }];
  });
}

/** Renders the form that requests several roles at once: a request and an approval for each. */
export function cartPage(picked: readonly Picked[], view: View): Page {
  return {
    title: texts.cart.title,
    lead: texts.cart.lead,
    crumbs: [{ href: at('roles'), text: texts.roles.title }],
    content:
      picked.length === 0 ? (
        <Empty icon="layers" title={texts.cart.empty}>
          <div class="actions">
            <a class="button second" href={at('roles')}>
              {texts.cart.choose}
            </a>
          </div>
        </Empty>
      ) : (
        <PostForm action={to(view, 'elevations')} view={view} once={view.once()} class="columns" keeps>
          <section aria-labelledby="picked">
            <h2 id="picked">{texts.cart.roles}</h2>
            <ul class="rows picks">
              {picked.map((each) => (
                <Pick key={each.item} {...each} />
              ))}
            </ul>
          </section>
          <section class="card" aria-labelledby="terms">
            <h2 id="terms">{texts.cart.terms}</h2>
            <Refused view={view} labels={{ reason: texts.role.reason, duration: texts.role.duration }} />
            <Field
              view={view}
              name="reason"
              label={texts.role.reason}
              hint={texts.role.reasonHint}
              control={(ties) => (
                <textarea
                  {...ties}
                  rows={3}
                  maxLength={limits.reason}
                  required={picked.some(({ role }) => role.reason.required)}
                >
                  {sent(view, 'reason')}
                </textarea>
              )}
            />
            <Field
              view={view}
              name="duration"
              label={texts.role.duration}
              control={(ties) => (
                <select {...ties}>
                  <option value="">{texts.cart.usualDurations}</option>
                  {durations.map((duration) => (
                    <option key={duration} value={duration} selected={sent(view, 'duration') === duration}>
                      {durationInWords(duration)}
                    </option>
                  ))}
                </select>
              )}
            />
            <button type="submit">{texts.cart.submit}</button>
          </section>
        </PostForm>
      ),
  };
}

function Pick({ item, provider, role }: Picked): VNode {
  const id = `pick-${item}`;
  return (
    <li class="row">
      <input type="checkbox" id={id} name="roles" value={item} checked />
      <Glyph type={provider} small />
      <label class="row-main" for={id}>
        <span class="row-title">{role.name}</span>
        <span class="row-sub">{role.description}</span>
      </label>
      <span class="row-side">
        {role.break_glass === true && <EmergencyMark />}
        {texts.roles.upTo(durationInWords(role.max_duration))}
      </span>
    </li>
  );
}

/** Renders the result of each request. */
export function requestedPage({ results, requested }: Outputs['elevation']['requestMany']): Page {
  return {
    title: texts.cart.done(requested, results.length),
    crumbs: [{ href: at('roles'), text: texts.roles.title }],
    actions: (
      <a class="button second" href={at('requests')}>
        {texts.cart.viewRequests}
      </a>
    ),
    content: (
      <ul class="rows">
        {results.map(({ role, execution_id, error }) => (
          <Row
            key={role}
            href={execution_id === null ? at('roles', role) : at('requests', execution_id)}
            sign={<Icon name={error === null ? 'circle-check' : 'circle-x'} class={error === null ? 'good' : 'bad'} />}
            title={role}
            sub={error?.message}
          >
            {error === null ? texts.cart.requested : texts.cart.rejected}
          </Row>
        ))}
      </ul>
    ),
  };
}
