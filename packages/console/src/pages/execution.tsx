import { parseDuration } from '@belay/contract/durations';
import { printable } from '@belay/sdk';
import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { ReturnForm } from './access.js';
import { DecideForm, type InboxItem, Request } from './approvals.js';
import { approversInWords, type Execution, stateOf } from './execution-state.js';
import { AccessWords, afterwardsInWords, ProviderLink } from './parts/access.js';
import { Comments } from './parts/comments.js';
import { Facts } from './parts/facts.js';
import { PostForm } from './parts/form.js';
import { addressWith } from './parts/list.js';
import { Person } from './parts/people.js';
import { Badge, EmergencyMark } from './parts/status.js';
import { TimeBar, TimeLeft, When } from './parts/time.js';
import { type Review, ReviewBadge } from './reviews.js';
import { AskForm } from './role.js';
import type { RoleDetails, Workflows } from './roles.js';
import { Timeline } from './timeline.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { durationInWords, listInWords } from './words.js';

/** What the page of a request shows in addition to the request, if the viewer may see it. */
export interface Beside {
  /** The approval that waits for the viewer's decision. */
  item?: InboxItem | undefined;
  comments?: Outputs['comments']['list'] | undefined;
  /** The people who can decide on the open approval. */
  approvers?: Outputs['approvals']['approvers'] | undefined;
  /** The review of this use of a role for emergencies. */
  review?: Review | undefined;
  /** The current role of the viewer's own request, and its enabled workflows. */
  role?: RoleDetails | undefined;
  workflows?: Workflows;
}

/** Renders one request: its state, its history, its terms, and its grants. */
export function executionPage(execution: Execution, beside: Beside, view: View): Page {
  const { item, role } = beside;
  const state = stateOf(execution);
  const own = isOwn(execution, view);
  const id = execution.workflow_id;
  return {
    title: texts.execution.for(execution.role, own ? 'you' : execution.user),
    crumbs: [{ href: at('requests'), text: texts.page.requests }],
    ...(execution.break_glass ? { mark: <EmergencyMark /> } : {}),
    lead: texts.execution.lead(listInWords(execution.providers), durationInWords(execution.duration)),
    ...(state.over ? {} : { live: { watch: id } }),
    content: (
      <>
        <div id="state" data-region>
          <section class={`state ${state.tone}`} aria-labelledby="now">
            <h2 id="now" data-say>
              {state.text}
            </h2>
            <Remaining execution={execution} view={view} />
            {state.next !== '' && <p>{state.next}</p>}
            {own && <Actions execution={execution} role={role} over={state.over} view={view} />}
          </section>
        </div>
        <div id="decide" data-region>
          {item !== undefined && (
            <section class="card" aria-labelledby="decide-head">
              <h2 id="decide-head" data-say>
                {texts.execution.decisionRequired}
              </h2>
              <Request item={item} view={view} />
              <DecideForm item={item} view={view} />
            </section>
          )}
        </div>
        <div class="columns">
          <div>
            <section aria-labelledby="happened">
              <h2 id="happened">{texts.execution.history}</h2>
              <div id="history" data-region>
                <Timeline execution={execution} view={view} />
              </div>
            </section>
            <div id="comments" data-region>
              {beside.comments !== undefined && <Comments list={beside.comments} id={id} view={view} />}
            </div>
            {own && state.over && role !== undefined && (
              <section aria-labelledby="again" class="card">
                <h2 id="again">{texts.execution.requestAgain}</h2>
                <AskForm
                  role={role}
                  workflows={beside.workflows ?? new Map()}
                  preset={presetOf(execution)}
                  view={view}
                />
              </section>
            )}
          </div>
          <section aria-labelledby="asked">
            <h2 id="asked">{texts.execution.details}</h2>
            <Facts
              facts={[
                [texts.execution.role, isDynamic(execution) ? texts.execution.noRole : roleLink(execution)],
                [texts.execution.systems, listInWords(execution.providers)],
                [texts.execution.requester, own ? 'you' : execution.user],
                [texts.execution.reason, execution.reason === '' ? texts.execution.noneGiven : execution.reason],
                [texts.execution.duration, durationInWords(execution.duration)],
                [texts.execution.requested, <When at={execution.start_time} view={view} />],
                execution.break_glass && [texts.execution.emergency, texts.execution.emergencyTold],
                beside.review !== undefined && [
                  texts.reviews.review,
                  <a href={addressWith(at('reviews'), { execution_id: beside.review.execution_id })}>
                    <ReviewBadge review={beside.review} />
                  </a>,
                ],
                execution.extends !== null && [
                  texts.execution.extends,
                  <a href={at('requests', execution.extends)}>{texts.execution.earlierRequest}</a>,
                ],
                [
                  texts.execution.workflow,
                  <a href={at('workflows', execution.workflow_type.name)}>{execution.workflow_type.name}</a>,
                ],
                [texts.execution.requestId, <code>{id}</code>],
              ]}
            />
            <div id="found" data-region>
              <Approvals execution={execution} approvers={beside.approvers} own={own} view={view} />
              <Grants execution={execution} view={view} />
            </div>
          </section>
        </div>
      </>
    ),
  };
}

/** Returns whether the viewer made the request. */
export function isOwn({ user }: { user: string }, view: View): boolean {
  return user === view.viewer?.email;
}

/** Renders the time left of active access, as words and as a bar, and a warning before its end. */
function Remaining({ execution, view }: { execution: Execution; view: View }): VNode {
  const active = execution.grants.flatMap(({ state, expires_at, granted_at, provider, identity }) =>
    state === 'active' && expires_at !== null && granted_at !== null
      ? [{ provider, identity, from: granted_at, until: expires_at }]
      : [],
  );
  const ends = active.map(({ until }) => until).sort()[0];
  return (
    <>
      {active.map(({ provider, identity, from, until }) => (
        <div key={`${provider} ${identity}`}>
          <p>
            <TimeLeft until={until} view={view} />
            {texts.execution.at2}
            {provider}
            {texts.execution.until} <When at={until} view={view} />
          </p>
          <TimeBar from={from} until={until} view={view} />
        </div>
      ))}
      {ends !== undefined && <Warning ends={ends} view={view} />}
    </>
  );
}

/**
 * How long before the end of access its page warns, in minutes. static/live.js has the same numbers, and reads the
 * texts from the markup.
 */
const warnings = [5, 15] as const;

function Warning({ ends, view }: { ends: string; view: View }): VNode {
  const left = Date.parse(ends) - view.now.getTime();
  const due = warnings.find((minutes) => left > 0 && left <= minutes * 60_000);
  const said = Object.fromEntries(
    warnings.map((minutes) => [`data-within-${minutes}`, texts.execution.endsWithin(minutes)]),
  );
  return (
    <p class="ends-soon" data-ends={ends} {...said} hidden={due === undefined}>
      {due === undefined ? '' : texts.execution.endsWithin(due)}
    </p>
  );
}

interface ActionsProps {
  execution: Execution;
  role: RoleDetails | undefined;
  over: boolean;
  view: View;
}

function Actions({ execution, role, over, view }: ActionsProps): VNode {
  const id = execution.workflow_id;
  const held = execution.grants.filter(({ state }) => state === 'active' || state === 'granting');
  const mayExtend = held.length > 0 && held.every(({ state }) => state === 'active');
  return (
    <div class="actions">
      {over && role !== undefined && (
        <a class="button second" href="#again">
          {texts.execution.requestAgain}
        </a>
      )}
      {mayExtend && <ExtendForm execution={execution} role={role} view={view} />}
      {held.length > 0 && (
        <div id="give-back">
          <ReturnForm id={id} role={execution.role} view={view} />
        </div>
      )}
      {execution.end_time === null && (
        <>
          <a class="button danger" id="cancel" href={at('requests', id, 'cancel')}>
            {texts.execution.cancelRequest}
          </a>
          <a class="quiet" id="terminate" href={at('requests', id, 'terminate')}>
            {texts.execution.terminateRequest}
          </a>
        </>
      )}
    </div>
  );
}

const offered = ['PT15M', 'PT30M', 'PT1H', 'PT2H', 'PT4H', 'PT8H', 'PT12H', 'P1D'];

/** Returns the durations that would end later than the current access, and that the role allows. */
function longerThan(execution: Execution, role: RoleDetails | undefined, view: View): string[] {
  const left = Math.max(
    0,
    ...execution.grants.map(({ expires_at }) => Date.parse(expires_at ?? '') - view.now.getTime() || 0),
  );
  const most = role === undefined ? parseDuration(execution.duration) : parseDuration(role.max_duration);
  const all = new Map(
    [...offered, role?.max_duration ?? execution.duration, execution.duration].map((each) => [
      parseDuration(each),
      each,
    ]),
  );
  return [...all]
    .filter(([length]) => length > left && length <= most)
    .sort(([one], [other]) => one - other)
    .map(([, text]) => text);
}

function ExtendForm({ execution, role, view }: Omit<ActionsProps, 'over'>): VNode | null {
  const durations = longerThan(execution, role, view);
  if (durations.length === 0) return null;
  const usual = durations.includes(execution.duration) ? execution.duration : durations[0];
  return (
    <PostForm
      action={to(view, 'execution', execution.workflow_id, 'extend')}
      view={view}
      once={view.once()}
      class="extend"
    >
      <label class="hidden-text" for="extend-for">
        {texts.execution.extendFor}
      </label>
      <select id="extend-for" name="duration">
        {durations.map((each) => (
          <option key={each} value={each} selected={each === usual}>
            {texts.execution.fromNow(durationInWords(each))}
          </option>
        ))}
      </select>
      <button type="submit">{texts.execution.extend}</button>
    </PostForm>
  );
}

/** Returns the terms of a request, for a form that requests the same again. The reason has its control characters made visible. */
function presetOf({ reason, duration, providers, workflow_type }: Execution) {
  return { reason: printable(reason), duration, providers, workflow: workflow_type.name };
}

/** Returns whether the request is a custom request, which has no page of a role. */
export function isDynamic({ input }: Execution): boolean {
  return typeof input === 'object' && input !== null && 'dynamic' in input;
}

function roleLink({ role }: Execution): VNode {
  return <a href={at('roles', role)}>{role}</a>;
}

interface ApprovalsProps {
  execution: Execution;
  approvers: Beside['approvers'];
  own: boolean;
  view: View;
}

function Approvals({ execution, approvers, own, view }: ApprovalsProps): VNode | null {
  if (execution.approvals.length === 0) return null;
  return (
    <>
      <h2>{texts.execution.approvals}</h2>
      <ul class="cards">
        {execution.approvals.map((approval) => {
          const open = approval.status === 'open';
          return (
            <li key={approval.id} class="card">
              <div class="card-head">
                <h3 class="sentence">{approversInWords(approval)}</h3>
                <Badge status={approval.status} />
              </div>
              {approval.because !== null && (
                <p class="quiet">
                  {texts.execution.reopened}
                  {approval.because}.
                </p>
              )}
              {approval.decisions.map((decision) => (
                <p key={decision.approver}>
                  {decision.verdict === 'approve' ? texts.execution.approved : texts.execution.denied}
                  {texts.execution.by2}
                  {decision.approver}, <When at={decision.decided_at} view={view} />
                  {decision.comment !== null && decision.comment !== '' && <q class="remark">{decision.comment}</q>}
                </p>
              ))}
              {open && approvers !== undefined && approvers.people.length > 0 && (
                <ul class="approvers" aria-label={texts.execution.canDecide}>
                  {approvers.people.map(({ email, name }) => (
                    <li key={email}>
                      <Person name={name} /> <span class="quiet">{email}</span>
                    </li>
                  ))}
                  {approvers.more && <li class="quiet">{texts.execution.andOthers}</li>}
                </ul>
              )}
              {open && (
                <p class="quiet">
                  {texts.execution.decisionDue}
                  <When at={approval.expires_at} view={view} />
                  {texts.execution.deniedAfterwards}
                  {own && texts.execution.notYourOwn}
                </p>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

function Grants({ execution, view }: { execution: Execution; view: View }): VNode | null {
  if (execution.grants.length === 0) return null;
  return (
    <>
      <h2>{texts.execution.access}</h2>
      <ul class="cards">
        {execution.grants.map((grant) => (
          <li key={`${grant.provider} ${grant.identity} ${JSON.stringify(grant.access)}`} class="card">
            <div class="card-head">
              <h3 class="sentence">
                <AccessWords access={grant.access} />
              </h3>
              <Badge status={grant.state} />
            </div>
            <Facts
              facts={[
                [texts.execution.system, <ProviderLink id={grant.provider} view={view} />],
                [texts.execution.identity, <code>{grant.identity}</code>],
                grant.granted_at !== null && [texts.execution.granted, <When at={grant.granted_at} view={view} />],
                grant.expires_at !== null &&
                  grant.gone_at === null && [texts.execution.expires, <When at={grant.expires_at} view={view} />],
                grant.gone_at !== null && [texts.execution.removalVerified, <When at={grant.gone_at} view={view} />],
                grant.gone_at === null && [texts.execution.revocation, afterwardsInWords(grant)],
                grant.pending !== null && [texts.accessPart.waiting, grant.pending],
                grant.last_error !== null && [texts.execution.lastError, grant.last_error],
              ]}
            />
          </li>
        ))}
      </ul>
    </>
  );
}
