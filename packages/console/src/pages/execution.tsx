import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { ReturnForm } from './access.js';
import { DecideForm, type InboxItem, Request } from './approvals.js';
import { approversInWords, type Execution, stateOf } from './execution-state.js';
import { AccessWords, afterwardsInWords, ProviderLink } from './parts/access.js';
import { Facts } from './parts/facts.js';
import { Badge } from './parts/status.js';
import { TimeLeft, When } from './parts/time.js';
import { readable } from './readable.js';
import { type Page, to, type View } from './view.js';
import { durationInWords, listInWords } from './words.js';

/** Renders one request with its state, details, grants and history. `item`: the approval that waits for the viewer's decision. */
export function executionPage(execution: Execution, item: InboxItem | undefined, view: View): Page {
  const state = stateOf(execution);
  const own = execution.user === view.viewer?.email;
  const active = execution.grants.filter((grant) => grant.state === 'active' && grant.expires_at !== null);
  const id = execution.workflow_id;
  return {
    title: texts.execution.for(execution.role, own ? 'you' : execution.user),
    ...(state.over ? {} : { live: { watch: id } }),
    content: (
      <>
        <p class="lead">
          {texts.execution.at}
          {listInWords(execution.providers)}
          {texts.execution.for2}
          {durationInWords(execution.duration)}
        </p>
        <div id="state" data-region>
          <section class={`state ${state.tone}`} aria-labelledby="now">
            <h2 id="now" data-say>
              {state.text}
            </h2>
            {active.map(({ provider, identity, expires_at }) => (
              <p key={`${provider} ${identity}`}>
                <TimeLeft until={expires_at ?? ''} view={view} />
                {texts.execution.at2}
                {provider}
                {texts.execution.until} <When at={expires_at ?? ''} view={view} />
              </p>
            ))}
            {state.next !== '' && <p>{state.next}</p>}
            {own && (!state.over || !isDynamic(execution)) && (
              <div class="actions">
                {state.over && (
                  <a class="button second" href={to(view, 'role', execution.role)}>
                    {texts.execution.requestAgain}
                  </a>
                )}
                {execution.grants.some((grant) => grant.state === 'active' || grant.state === 'granting') && (
                  <ReturnForm id={id} role={execution.role} view={view} />
                )}
                {execution.end_time === null && (
                  <>
                    <a class="button danger" id="cancel" href={to(view, 'execution', id, 'cancel')}>
                      {texts.execution.cancelRequest}
                    </a>
                    <a class="quiet" id="terminate" href={to(view, 'execution', id, 'terminate')}>
                      {texts.execution.terminateRequest}
                    </a>
                  </>
                )}
              </div>
            )}
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
          <section aria-labelledby="asked">
            <h2 id="asked">{texts.execution.details}</h2>
            <Facts
              facts={[
                [texts.execution.role, isDynamic(execution) ? texts.execution.noRole : roleLink(execution, view)],
                [texts.execution.systems, listInWords(execution.providers)],
                [texts.execution.requester, own ? 'you' : execution.user],
                [texts.execution.reason, execution.reason === '' ? texts.execution.noneGiven : execution.reason],
                [texts.execution.duration, durationInWords(execution.duration)],
                [texts.execution.requested, <When at={execution.start_time} view={view} />],
                [
                  texts.execution.workflow,
                  <a href={to(view, 'workflow', execution.workflow_type.name)}>{execution.workflow_type.name}</a>,
                ],
                [texts.execution.requestId, <code>{id}</code>],
              ]}
            />
            <div id="found" data-region>
              <Approvals execution={execution} own={own} view={view} />
              <Grants execution={execution} view={view} />
            </div>
          </section>
          <section aria-labelledby="happened">
            <h2 id="happened">{texts.execution.history}</h2>
            <div id="history" data-region>
              <Timeline execution={execution} view={view} />
            </div>
          </section>
        </div>
      </>
    ),
  };
}

/** Returns whether it is a custom request, whose role has no page. */
function isDynamic({ input }: Execution): boolean {
  return typeof input === 'object' && input !== null && 'dynamic' in input;
}

function roleLink({ role }: Execution, view: View): VNode {
  return <a href={to(view, 'role', role)}>{role}</a>;
}

function Approvals({ execution, own, view }: { execution: Execution; own: boolean; view: View }): VNode | null {
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

const tones: readonly [RegExp, string][] = [
  [/^approval\.(approved)$|^entitlement\.granted$/, 'good'],
  [/^approval\.(denied|expired)$|\.faulted\.|^execution\.terminated$/, 'bad'],
  [/^approval\.opened$|^grant\.(ended|expired)$/, 'warn'],
];

/** Renders the history, with every step of the workflow folded beneath it. */
function Timeline({ execution, view }: { execution: Execution; view: View }): VNode {
  const all = execution.history.map((entry, index) => ({ ...entry, key: `${index}` }));
  const story = all.filter(({ event_type }) => !isStep(event_type));
  return (
    <>
      <Entries entries={story} view={view} />
      <details id="steps">
        <summary>
          {texts.execution.allSteps}
          {all.length})
        </summary>
        <Entries entries={all} view={view} />
        {execution.next !== null && (
          <p>
            <a
              href={`${to(view, 'execution', execution.workflow_id)}?${new URLSearchParams({ cursor: execution.next })}`}
            >
              {texts.execution.olderEvents}
            </a>
          </p>
        )}
      </details>
    </>
  );
}

/** Returns whether an event only reports the progress of a task or workflow. */
function isStep(type: string): boolean {
  return /\.(task|workflow)\.(created|started|completed|suspended|resumed)\.v1$/.test(type);
}

function Entries(props: { entries: (Execution['history'][number] & { key: string })[]; view: View }): VNode {
  return (
    <ol class="timeline">
      {props.entries.map((entry) => (
        <li key={entry.key} class={tones.find(([type]) => type.test(entry.event_type))?.[1]}>
          <p>{readable(entry.message)}</p>
          <p class="quiet">
            <When at={entry.timestamp} view={props.view} />
          </p>
        </li>
      ))}
    </ol>
  );
}
