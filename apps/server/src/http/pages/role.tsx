import { parseDuration } from '@belay/workflow';
import type { VNode } from 'preact';
import { whoDecides } from './approvers.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { held, permitted, type RoleDetails, type Workflows } from './roles.js';
import { type Page, to, type View } from './view.js';
import { durationInWords, listInWords } from './words.js';

/** One role: what it permits, who decides, and the form to ask for it. */
export function rolePage(role: RoleDetails, workflows: Workflows, view: View): Page {
  const { users = [], groups = [] } = role.permissions ?? {};
  const audience = [...users, ...groups.map((group) => `the group ${group}`)];
  return {
    title: role.name,
    content: (
      <>
        <p class="lead">{role.description}</p>
        <div class="columns">
          <section aria-labelledby="what">
            <h2 id="what">What it is</h2>
            <Facts
              facts={[
                permitted(role, view),
                held(role),
                ...role.workflows.map((name): [string, VNode] => [
                  role.workflows.length > 1 ? `Decided by (${name})` : 'Decided by',
                  <>
                    {workflows.has(name) && `${whoDecides(workflows.get(name)?.document.do)}. `}
                    <a href={to(view, 'workflow', name)}>See the workflow</a>
                  </>,
                ]),
                ['May ask', audience.length === 0 ? 'Everyone who is signed in' : listInWords(audience)],
                role.inherits.length > 0 && ['Made from', role.inherits.join(', ')],
              ]}
            />
            <p class="quiet">
              You never decide about your own request, and neither does whoever would be given the access. The clock
              starts when the access works, and you can give it back early.
            </p>
          </section>
          <section aria-labelledby="ask" class="card">
            <h2 id="ask">Ask for it</h2>
            <AskForm role={role} view={view} />
          </section>
        </div>
      </>
    ),
  };
}

function AskForm({ role, view }: { role: RoleDetails; view: View }): VNode {
  const { required, pattern } = role.reason;
  return (
    <PostForm action={`${view.basePath}/elevate`} view={view}>
      <input type="hidden" name="role" value={role.name} />
      <div class="field">
        <label for="reason">Reason</label>
        <p class="hint" id="reason-hint">
          {required ? 'Whoever decides reads this.' : 'Optional. Whoever decides reads this.'}
          {pattern !== undefined && (
            <>
              {' '}
              It must match <code>{pattern}</code>.
            </>
          )}
        </p>
        <textarea
          id="reason"
          name="reason"
          rows={3}
          maxLength={2000}
          required={required}
          aria-describedby="reason-hint"
        />
      </div>
      <div class="field">
        <label for="duration">How long</label>
        <select id="duration" name="duration">
          {durationsOf(role).map((duration) => (
            <option key={duration} value={duration} selected={duration === role.default_duration}>
              {durationInWords(duration)}
            </option>
          ))}
        </select>
      </div>
      {role.providers.length > 1 && (
        <div class="field">
          <label for="providers">Where</label>
          <select id="providers" name="providers">
            <option value={role.providers.join(',')}>{listInWords(role.providers)}</option>
            {role.providers.map((provider) => (
              <option key={provider} value={provider}>
                {provider}
              </option>
            ))}
          </select>
        </div>
      )}
      {role.workflows.length > 1 && (
        <div class="field">
          <label for="workflow">Workflow</label>
          <select id="workflow" name="workflow">
            {role.workflows.map((workflow) => (
              <option key={workflow} value={workflow}>
                {workflow}
              </option>
            ))}
          </select>
        </div>
      )}
      <button type="submit">Ask for {role.name}</button>
    </PostForm>
  );
}

const usual = ['PT15M', 'PT30M', 'PT1H', 'PT2H', 'PT4H', 'PT8H', 'P1D', 'P3D', 'P7D'];

/** Round durations up to the role's longest, with its usual one and its longest among them. */
function durationsOf(role: RoleDetails): string[] {
  const most = parseDuration(role.max_duration);
  const all = [role.default_duration, role.max_duration, ...usual.filter((each) => parseDuration(each) < most)];
  const byLength = new Map(all.toReversed().map((each) => [parseDuration(each), each]));
  return [...byLength].sort(([one], [other]) => one - other).map(([, each]) => each);
}
