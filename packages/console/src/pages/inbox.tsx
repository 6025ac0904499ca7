import type { ComponentChildren, VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { DecideForm, type InboxItem, Request, titleOf } from './approvals.js';
import { Approvers } from './parts/approvers.js';
import { Comments } from './parts/comments.js';
import { Filters } from './parts/filters.js';
import { PostForm } from './parts/form.js';
import { Icon } from './parts/icon.js';
import { addressWith, Empty, Paging, Row } from './parts/list.js';
import { Avatar } from './parts/people.js';
import { EmergencyMark } from './parts/status.js';
import { Ago } from './parts/time.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { durationInWords } from './words.js';

type Inbox = Outputs['approvals']['inbox'];

/** How many requests one page of the queue lists. */
export const inboxPageSize = 50;

/** What the page shows beside the list: the details of the open request. */
export interface Opened {
  item: InboxItem | undefined;
  comments: Outputs['comments']['list'] | undefined;
  approvers: Outputs['approvals']['approvers'] | undefined;
}

/** Returns the fields of the address that every link of the page keeps. */
function kept({ input }: View): Record<string, string | undefined> {
  const text = (name: string) => (typeof input[name] === 'string' ? input[name] : undefined);
  return { sort: text('sort'), requester: text('requester'), cursor: text('cursor') };
}

function openAddress(view: View, id: string | undefined): string {
  return addressWith(at('inbox'), { ...kept(view), id });
}

/** Renders the queue: the requests that wait for the viewer, beside the open one. */
export function inboxPage(list: Inbox, opened: Opened, view: View): Page {
  const chosen = view.input.id !== undefined;
  return {
    title: texts.inbox.inbox,
    wide: true,
    live: { every: 5 },
    scripts: ['inbox.js'],
    actions: <Keys />,
    content: (
      <>
        <Toolbar list={list} view={view} />
        <div class={chosen ? 'split inbox chosen' : 'split inbox'}>
          <div id="inbox" class="inbox-list" data-region>
            <p class="hidden-text" data-say>
              {list.total === 0 ? texts.approvals.announceNone : texts.approvals.announceCount(list.total)}
            </p>
            {list.approvals.length === 0 && <Empty icon="inbox" title={texts.approvals.empty} />}
            {groupByRequester(list.approvals).map((items) => (
              <Group key={items[0]?.requester.email} items={items} open={opened.item?.id} view={view} />
            ))}
            <Paging
              newer={
                view.input.cursor === undefined ? undefined : addressWith(at('inbox'), { ...kept(view), cursor: '' })
              }
              older={list.next === null ? undefined : addressWith(at('inbox'), { ...kept(view), cursor: list.next })}
              shown={texts.inbox.shown(list.approvals.length, list.total)}
            />
          </div>
          <div id="opened" class="split-detail" data-region>
            {(chosen || opened.item !== undefined) && (
              <p class="inbox-back">
                <a href={openAddress(view, undefined)}>{texts.inbox.back}</a>
              </p>
            )}
            {opened.item === undefined ? (
              chosen && <Empty icon="circle-check" title={texts.inbox.gone} />
            ) : (
              <Detail opened={{ ...opened, item: opened.item }} list={list} view={view} />
            )}
          </div>
        </div>
      </>
    ),
  };
}

const usualOrder = 'turns';

function Toolbar({ list, view }: { list: Inbox; view: View }): VNode {
  const { sort = usualOrder, requester = '' } = kept(view);
  return (
    <Filters
      view={view}
      action={at('inbox')}
      label={texts.inbox.filters}
      submit={texts.inbox.show}
      set={(requester === '' ? 0 : 1) + (sort === usualOrder ? 0 : 1)}
      labels={{}}
    >
      <div class="filter wide">
        <label for="inbox-requester">{texts.inbox.requester}</label>
        <input
          id="inbox-requester"
          name="requester"
          type="email"
          list="requesters"
          value={requester}
          placeholder={texts.inbox.anyone}
          autocomplete="off"
          data-search
        />
        <datalist id="requesters">
          {list.requesters.map(({ email, name }) => (
            <option key={email} value={email}>
              {name}
            </option>
          ))}
        </datalist>
      </div>
      <div class="filter">
        <label for="inbox-sort">{texts.inbox.sort}</label>
        <select id="inbox-sort" name="sort">
          {([usualOrder, 'oldest', 'ending'] as const).map((order) => (
            <option key={order} value={order} selected={order === sort}>
              {texts.inbox.orders[order]}
            </option>
          ))}
        </select>
      </div>
    </Filters>
  );
}

function groupByRequester(approvals: readonly InboxItem[]): InboxItem[][] {
  const groups = new Map<string, InboxItem[]>();
  for (const item of approvals) {
    groups.set(item.requester.email, [...(groups.get(item.requester.email) ?? []), item]);
  }
  return [...groups.values()];
}

function reasonOf({ reason }: InboxItem): string {
  return reason === '' ? texts.approvals.noReasonWasGiven : reason;
}

/** How many requests of one person are shown unfolded, so that other people's stay visible. */
const few = 3;

function Group(props: { items: InboxItem[]; open: string | undefined; view: View }): VNode {
  const { items, open, view } = props;
  const { email = '', name = '' } = items[0]?.requester ?? {};
  const alone = view.input.requester !== undefined;
  const unfolded = alone ? items : items.slice(0, few);
  const folded = alone ? [] : items.slice(few);
  const rows = (shown: readonly InboxItem[]) => (
    <ul class="rows">
      {shown.map((item) => (
        <Row
          key={item.id}
          id={`row-${item.id}`}
          href={openAddress(view, item.id)}
          title={item.role}
          sub={reasonOf(item)}
          hint={`${item.role}: ${reasonOf(item)}`}
          current={item.id === open}
        >
          <Ago at={item.created_at} view={view} />
          <span class="row-marks">
            {item.break_glass && <EmergencyMark />}
            {item.open_question && <span class="badge warn">{texts.inbox.asked}</span>}
            {!item.open_question && item.comments > 0 && (
              <span class="quiet">{texts.inbox.remarks(item.comments)}</span>
            )}
          </span>
        </Row>
      ))}
    </ul>
  );
  return (
    <section aria-label={name}>
      <div class="group-head">
        <Avatar name={name} small />
        <h2>{name}</h2>
        <span class="quiet">{items.length}</span>
      </div>
      {rows(unfolded)}
      {folded.length > 0 && (
        <details id={`more-${email}`} open={folded.some(({ id }) => id === open)}>
          <summary>
            {folded.length}
            {texts.approvals.moreFrom}
            {name}
          </summary>
          {rows(folded)}
        </details>
      )}
    </section>
  );
}

function Detail({ opened, list, view }: { opened: Opened & { item: InboxItem }; list: Inbox; view: View }): VNode {
  const { item, comments, approvers } = opened;
  const alike = alikeOf(item, list.approvals);
  return (
    <article class="card" data-approval={item.id} aria-labelledby="opened-head">
      <div class="card-head">
        <h2 id="opened-head">{titleOf(item)}</h2>
        {item.break_glass && <EmergencyMark />}
      </div>
      <Request item={item} view={view} />
      <DecideForm item={item} view={view} next={nextOf(item, list.approvals)} />
      {alike.length > 1 && <Bulk items={alike} view={view} />}
      {approvers !== undefined && <Approvers approvers={approvers} viewer={view.viewer?.email} />}
      {comments !== undefined && <Comments list={comments} id={item.id} view={view} />}
    </article>
  );
}

/** Returns the id of the request that is shown after this one is decided: the next in the list, or the first after the end. */
function nextOf({ id }: InboxItem, items: readonly InboxItem[]): string {
  const shown = groupByRequester(items).flat();
  const rest = shown.filter((item) => item.id !== id);
  const place = shown.findIndex((item) => item.id === id);
  return (shown[place + 1] ?? rest[0])?.id ?? '';
}

/** Returns the requests that would grant the same access, to other people or for other reasons. The server compares them again. */
function alikeOf(item: InboxItem, items: readonly InboxItem[]): InboxItem[] {
  return item.decide_on_page ? [] : items.filter((other) => kindOf(other) === kindOf(item));
}

function kindOf({ role, duration, grants }: InboxItem): string {
  const held = grants.map(({ identity: _whose, ...grant }) => JSON.stringify(grant));
  return JSON.stringify([role, duration, [...new Set(held)].sort()]);
}

/** Renders a form that decides several requests for the same access. The person opens it first, so that no single key press decides. */
function Bulk({ items, view }: { items: InboxItem[]; view: View }): VNode {
  const [{ role, duration } = { role: '', duration: 'PT0S' }] = items;
  return (
    <details class="bulk" id="bulk">
      <summary>{texts.inbox.alike(items.length, role, durationInWords(duration))}</summary>
      <PostForm action={to(view, 'approvals', 'decisions')} view={view}>
        <fieldset>
          <legend class="hidden-text">{texts.inbox.chosen}</legend>
          <ul class="rows">
            {items.map((item) => (
              <li key={item.id} class="row">
                <label>
                  <input type="checkbox" name="ids" value={item.id} />{' '}
                  <span>
                    {item.requester.name}
                    {texts.inbox.for}
                    <code>{item.grants.map(({ identity }) => identity).join(', ')}</code>
                    <br />
                    <span class="quiet">{reasonOf(item)}</span>
                  </span>
                </label>
                <input type="hidden" name="request_digests" value={item.request_digest} />
              </li>
            ))}
          </ul>
        </fieldset>
        <div class="actions">
          <button type="submit" name="verdict" value="approve">
            {texts.inbox.approveChosen}
          </button>
          <button type="submit" name="verdict" value="deny" class="danger">
            {texts.inbox.denyChosen}
          </button>
        </div>
      </PostForm>
    </details>
  );
}

/** Renders the list of keys; its button also works without scripts. */
function Keys(): VNode {
  const row = (key: string, meaning: ComponentChildren) => (
    <>
      <dt>
        <kbd>{key}</kbd>
      </dt>
      <dd>{meaning}</dd>
    </>
  );
  return (
    <>
      <button type="button" class="second" popovertarget="keys">
        {texts.inbox.keys}
      </button>
      <div id="keys" class="dialog" popover="auto" role="dialog" aria-labelledby="keys-head">
        <h2 id="keys-head">{texts.inbox.keys}</h2>
        <dl class="facts">
          {row('j', texts.inbox.keyNext)}
          {row('k', texts.inbox.keyPrevious)}
          {row('a', texts.inbox.keyApprove)}
          {row('d', texts.inbox.keyDeny)}
          {row('c', texts.inbox.keyComment)}
          {row('/', texts.inbox.keySearch)}
          {row('?', texts.inbox.keyHelp)}
        </dl>
      </div>
    </>
  );
}

/** Renders the result of each of several decisions. */
export function bulkPage(output: Outputs['approvals']['decideMany']): Page {
  const { results, decided, rejected } = output;
  return {
    title: texts.inbox.decisions,
    narrow: true,
    content: (
      <>
        <p role="status">
          {texts.inbox.recorded(decided)} {rejected > 0 && texts.inbox.notRecorded(rejected)}
        </p>
        <ul class="rows">
          {results.map(({ id, status, execution_id, error }) => (
            <li key={id} class="row">
              <Icon name={error === null ? 'circle-check' : 'triangle-alert'} />
              <span class="row-main">
                {execution_id === null ? <code>{id}</code> : <a href={at('requests', execution_id)}>{execution_id}</a>}
                <span class="quiet">{error?.message ?? status}</span>
              </span>
            </li>
          ))}
        </ul>
        <p>
          <a class="button" href={at('inbox')}>
            {texts.inbox.openInbox}
          </a>
        </p>
      </>
    ),
  };
}
