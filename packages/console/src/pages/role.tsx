import { parseDuration } from '@belay/contract/durations';
import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { whoDecides } from './approvers.js';
import { type Fact, Facts } from './parts/facts.js';
import { Field, PostForm, Refused, sent } from './parts/form.js';
import { Icon } from './parts/icon.js';
import { EmergencyMark, EmergencyNotice } from './parts/status.js';
import { held, permitted, type RoleDetails, type Workflows } from './roles.js';
import { type Page, to, type View } from './view.js';
import { durationInWords, listInWords } from './words.js';

/** What the page of a role shows in addition to the role. */
export interface AroundRole {
  workflows: Workflows;
  /** Whether the viewer starred the role. */
  starred: boolean;
}

/** Renders one role with its access, its approvers and the form to request it. */
export function rolePage(role: RoleDetails, { workflows, starred }: AroundRole, view: View): Page {
  const { users = [], groups = [] } = role.permissions ?? {};
  const audience = [...users, ...groups.map((group) => texts.role.theGroup(group))];
  return {
    title: role.name,
    lead: role.description,
    crumbs: [{ href: at('roles'), text: texts.roles.title }],
    ...(role.break_glass === true ? { mark: <EmergencyMark /> } : {}),
    actions: <StarForm role={role.name} starred={starred} view={view} />,
    content: (
      <>
        <div class="columns">
          <section aria-labelledby="what">
            <h2 id="what">{texts.role.details}</h2>
            <Facts
              facts={[
                permitted(role),
                held(role),
                ...role.workflows.map(
                  (name): Fact => [
                    role.workflows.length > 1 ? texts.role.approversOf(name) : texts.role.approvers,
                    workflows.has(name) ? (
                      <>
                        {whoDecides(workflows.get(name)?.document.do)}.{' '}
                        <a href={at('workflows', name)}>{texts.role.viewWorkflow}</a>
                      </>
                    ) : (
                      texts.role.workflowDisabled(name)
                    ),
                  ],
                ),
                [
                  texts.role.requesters,
                  audience.length === 0 ? texts.role.everyoneWhoIsSignedIn : listInWords(audience),
                ],
                role.inherits.length > 0 && [texts.role.includes, role.inherits.join(', ')],
              ]}
            />
            <p class="quiet">{texts.role.rules}</p>
          </section>
          <section aria-labelledby="ask" class="card">
            <h2 id="ask">{texts.role.requestAccess}</h2>
            <AskForm role={role} workflows={workflows} view={view} />
          </section>
        </div>
      </>
    ),
  };
}

/** Renders a role that the viewer may see but not request; the error says how to get the role. */
export function unreachedRolePage(view: View): Page {
  return {
    title: String(view.input.role),
    narrow: true,
    crumbs: [{ href: at('roles'), text: texts.roles.title }],
    content: (
      <>
        <p role="status">{view.refused?.message}.</p>
        <p>
          <a class="button second" href={at('roles')}>
            {texts.roles.allRoles}
          </a>
        </p>
      </>
    ),
  };
}

/** Renders the button that stars a role, or removes its star. */
function StarForm({ role, starred, view }: { role: string; starred: boolean; view: View }): VNode {
  return (
    <PostForm
      action={to(view, 'role', role, starred ? 'unstar' : 'star')}
      class={starred ? 'starred' : undefined}
      view={view}
    >
      <button type="submit" class="second">
        <Icon name="star" />
        {starred ? texts.role.unstar : texts.role.star}
      </button>
    </PostForm>
  );
}

interface Preset {
  reason: string;
  /** An ISO 8601 duration. */
  duration: string;
  providers: string[];
  workflow?: string;
}

/** Returns the submitted values, for a form that is shown again; they may be invalid. */
function sentPreset(view: View): Preset | undefined {
  if (view.refused === undefined && view.unsent === undefined) return undefined;
  const providers = sent(view, 'providers').split(', ');
  return {
    reason: sent(view, 'reason'),
    duration: sent(view, 'duration'),
    providers,
    workflow: sent(view, 'workflow'),
  };
}

const labels = {
  reason: texts.role.reason,
  duration: texts.role.duration,
  providers: texts.role.systems,
  workflow: texts.role.workflow,
};

/** Renders the form to request a role; the person sees and can change preset values. */
export function AskForm(props: { role: RoleDetails; workflows: Workflows; preset?: Preset; view: View }): VNode {
  const { role, workflows, view, ...given } = props;
  // Only enabled workflows can be read. If the first one is disabled, the next one must not become the default, because it may require less
  // approval.
  const enabled = role.workflows.filter((name) => workflows.has(name));
  const [usual = ''] = role.workflows;
  if (enabled.length === 0) {
    const verb = role.workflows.length === 1 ? 'is' : 'are';
    return (
      <p>
        {texts.role.notRequestable}
        {listInWords(role.workflows)} {verb}
        {texts.role.disabled}
      </p>
    );
  }
  const preset = sentPreset(view) ?? given.preset;
  const { required, pattern } = role.reason;
  const durations = durationsOf(role, preset?.duration);
  const chosen = durations.find((each) => isSame(each, preset?.duration)) ?? role.default_duration;
  const everywhere = role.providers.join(',');
  const places = preset?.providers.join(',');
  return (
    <PostForm action={`${view.basePath}/elevate`} view={view} once={view.once()} keeps>
      <Refused view={view} labels={labels} />
      <input type="hidden" name="role" value={role.name} />
      {role.break_glass === true && <EmergencyNotice text={texts.role.emergencyTold} />}
      <Field
        view={view}
        name="reason"
        label={labels.reason}
        hint={
          <>
            {required ? texts.role.reasonHint : texts.role.optionalReasonHint}
            {pattern !== undefined && (
              <>
                {' '}
                {texts.role.itMustMatch}
                <code>{pattern}</code>.
              </>
            )}
          </>
        }
        control={(ties) => (
          <textarea {...ties} rows={3} maxLength={limits.reason} required={required}>
            {preset?.reason}
          </textarea>
        )}
      />
      <Field
        view={view}
        name="duration"
        label={labels.duration}
        control={(ties) => (
          <select {...ties}>
            {durations.map((duration) => (
              <option key={duration} value={duration} selected={isSame(duration, chosen)}>
                {durationInWords(duration)}
              </option>
            ))}
          </select>
        )}
      />
      {role.providers.length > 1 && (
        <Field
          view={view}
          name="providers"
          label={labels.providers}
          control={(ties) => (
            <select {...ties} required>
              {/* No default: all providers would be the widest grant. */}
              <option value="">{texts.role.chooseSystem}</option>
              {[...role.providers].sort().map((provider) => (
                <option key={provider} value={provider} selected={places === provider}>
                  {provider}
                </option>
              ))}
              <option value={everywhere} selected={places === everywhere}>
                {listInWords(role.providers)}
              </option>
            </select>
          )}
        />
      )}
      {(role.workflows.length > 1 || enabled[0] !== usual) && (
        <Field
          view={view}
          name="workflow"
          label={labels.workflow}
          control={(ties) => (
            <select {...ties} required>
              {!enabled.includes(usual) && (
                <option value="">
                  {texts.role.chooseWorkflow}
                  {usual}
                  {texts.role.isDisabled}
                </option>
              )}
              {enabled.map((workflow) => (
                <option key={workflow} value={workflow} selected={preset?.workflow === workflow}>
                  {workflow}
                </option>
              ))}
            </select>
          )}
        />
      )}
      <button type="submit">
        {texts.role.request}
        {role.name}
      </button>
    </PostForm>
  );
}

const usual = ['PT15M', 'PT30M', 'PT1H', 'PT2H', 'PT4H', 'PT8H', 'P1D', 'P3D', 'P7D'];

/**
 * Returns the role's default and maximum, and the round durations and the wished one that are shorter than the maximum.
 */
function durationsOf(role: RoleDetails, wished: string | undefined): string[] {
  const most = parseDuration(role.max_duration);
  const wishes = wished === undefined ? [] : [wished];
  const within = [...wishes, ...usual].filter((each) => (lengthOf(each) ?? most) < most);
  const byLength = new Map(
    [role.default_duration, role.max_duration, ...within].map((each) => [parseDuration(each), each]),
  );
  return [...byLength].sort(([one], [other]) => one - other).map(([, each]) => each);
}

function isSame(one: string, other: string | undefined): boolean {
  return other !== undefined && lengthOf(one) === lengthOf(other);
}

/** Returns a duration in milliseconds; undefined for text that is not a duration. */
function lengthOf(duration: string): number | undefined {
  try {
    return parseDuration(duration);
  } catch {
    return undefined;
  }
}
