import type { ErrorBody } from '@belay/contract/errors';
import type { Suggestion } from '@belay/contract/suggestions';
import { at } from '../paths.js';
import { accessPage } from './access.js';
import { adminAccessPage } from './admin/access.js';
import { adminAgentsPage } from './admin/agents.js';
import { adminConfigurationPage, adminConfigurationsPage } from './admin/configuration.js';
import { adminLogsPage } from './admin/logs.js';
import { adminOverduePage } from './admin/overdue.js';
import { adminPeoplePage, adminPersonPage } from './admin/people.js';
import { cartPage, readPicked, requestedPage } from './cart.js';
import { confirmPage, donePage } from './confirm.js';
import { deviceDonePage, devicePage } from './device.js';
import { dynamicPage } from './dynamic.js';
import { executionPage, isDynamic, isOwn } from './execution.js';
import { executionsPage } from './executions.js';
import { homePage } from './home.js';
import { bulkPage, inboxPage, inboxPageSize } from './inbox.js';
import { logsPage } from './logs.js';
import { addressWith } from './parts/list.js';
import { programPage } from './program.js';
import { providerPage, providersPage } from './providers.js';
import { reviewsPage } from './reviews.js';
import { type AroundRole, rolePage, unreachedRolePage } from './role.js';
import { type AroundRoles, type RoleDetails, rolesPage, type Workflows } from './roles.js';
import { searchPage } from './search.js';
import { settingsPage } from './settings.js';
import { signedInPage, signedOutPage, signInPage } from './sign-in.js';
import { describePage, suggestionPage } from './suggest.js';
import type { Outputs, Page, View } from './view.js';
import { workflowPage, workflowsPage } from './workflows.js';

export type Rendered = { page: Page; view?: View } | { redirect: string };

/**
 * Calls another procedure on behalf of the same caller, for a page that shows more than one output. Resolves to undefined when the
 * caller cannot see it or it does not exist.
 */
export type Ask = <Output>(procedure: string, input?: object) => Promise<Output | undefined>;

type Render = (output: never, view: View, ask: Ask) => Rendered | Promise<Rendered>;

const requested: Render = (output: Outputs['elevation']['request'], _view) => ({
  redirect: at('requests', output.output.execution_id),
});
/** Redirects to the page of the request after an action on it. */
const toExecution: Render = (_output: object, view) => ({
  redirect: at('requests', String(view.input.execution_id ?? view.input.id)),
});
/** Redirects to the list of roles if the star is in one of its rows, or else to the role. */
const toStarred: Render = (output: Outputs['roles']['star'], view) => {
  const from = view.sentFrom?.path ?? '';
  return { redirect: from.split('?')[0] === at('roles') ? from : at('roles', output.role) };
};
const toAdmin =
  (page: string): Render =>
  () => ({ redirect: at('admin', page) });
const signedOut: Render = (output: { message: string }, view) => ({ page: signedOutPage(output, view) });

/** Pages by procedure. A page is a pure function of outputs; procedures without a page return JSON. */
const table: Readonly<Record<string, Render>> = {
  'access.list': (output: Outputs['access']['list'], view) => ({ page: accessPage(output, view) }),
  'access.return': toExecution,
  'admin.access': (output: Outputs['admin']['access'], view) => ({ page: adminAccessPage(output, view) }),
  'admin.agents': (output: Outputs['admin']['agents'], view) => ({ page: adminAgentsPage(output, view) }),
  'admin.configuration': (output: Outputs['admin']['configuration'], view) => ({
    page: adminConfigurationPage(output, view),
  }),
  'admin.configurations': (output: Outputs['admin']['configurations'], view) => ({
    page: adminConfigurationsPage(output, view),
  }),
  'admin.endLogin': toAdmin('people'),
  'admin.logs': (output: Outputs['admin']['logs'], view) => ({ page: adminLogsPage(output, view) }),
  'admin.overdue': (output: Outputs['admin']['overdue'], view) => ({ page: adminOverduePage(output, view) }),
  'admin.people': (output: Outputs['admin']['people'], view) => ({ page: adminPeoplePage(output, view) }),
  'admin.person': (output: Outputs['admin']['person'], view) => ({ page: adminPersonPage(output, view) }),
  'admin.removeAgent': toAdmin('agents'),
  'admin.retry': toAdmin('overdue'),
  'admin.accept': toAdmin('overdue'),
  'admin.revoke': toAdmin('access'),
  'admin.separate': toAdmin('people'),
  'admin.stop': toAdmin('people'),
  'approvals.decide': (output: Outputs['approvals']['decide'], view) => ({
    redirect: typeof view.input.next === 'string' ? inInbox(view.input.next) : at('requests', output.execution_id),
  }),
  'approvals.decideMany': (output: Outputs['approvals']['decideMany'], _view) => ({ page: bulkPage(output) }),
  'approvals.inbox': renderInbox,
  // Null when the callback began a provider's session instead of a person's session.
  'auth.callback': (output: { user: { name: string; email: string } } | null, view) =>
    output === null ? { redirect: '/' } : { page: signedInPage(output, view) },
  'auth.logout': signedOut,
  'auth.logoutProvider': signedOut,
  'auth.page': async (output: Outputs['auth']['page'], view, ask) => ({
    page: signInPage(output, await sessionsOf(view, ask), view),
  }),
  // A comment with the id of an approval was written in the inbox, one with the id of an execution on the page of the request.
  'comments.add': async (_output: object, view, ask) => {
    const id = String(view.input.id);
    const inbox = await ask<Outputs['approvals']['inbox']>('approvals.inbox', { id });
    const [item] = inbox?.approvals ?? [];
    return { redirect: item?.id === id ? inInbox(id) : at('requests', item?.execution_id ?? id) };
  },
  'elevation.dynamic': (output: Outputs['elevation']['dynamic'], view) => ({ page: dynamicPage(output, view) }),
  'device.decide': (output: { message: string }) => ({ page: deviceDonePage(output) }),
  'device.page': (output: Outputs['device']['page'], view) => ({ page: devicePage(output, view) }),
  'elevation.request': requested,
  'elevation.requestLink': requested,
  'elevation.requestMany': (output: Outputs['elevation']['requestMany'], _view) => ({ page: requestedPage(output) }),
  'elevation.suggest': async (output: Suggestion, view, ask) => {
    const name = output.output.suggested_role;
    const role = name === '' ? undefined : await ask<RoleDetails>('roles.get', { role: name });
    const workflows = await workflowsOf(role === undefined ? [] : [role], ask);
    return { page: suggestionPage(output, { role, workflows }, view) };
  },
  'elevation.suggestForm': (_output: unknown, view) => ({ page: describePage(view) }),
  'executions.cancel': toExecution,
  'executions.get': async (output: Outputs['executions']['get'], view, ask) => {
    const id = output.workflow_id;
    const open = output.approvals.some(({ status }) => status === 'open');
    const [inbox, comments, approvers, reviewed, role] = await Promise.all([
      ask<Outputs['approvals']['inbox']>('approvals.inbox', { id }),
      ask<Outputs['comments']['list']>('comments.list', { id }),
      open ? ask<Outputs['approvals']['approvers']>('approvals.approvers', { id }) : undefined,
      output.break_glass ? ask<Outputs['reviews']['list']>('reviews.list', { execution_id: id }) : undefined,
      isOwn(output, view) && !isDynamic(output) ? ask<RoleDetails>('roles.get', { role: output.role }) : undefined,
    ]);
    const item = inbox?.approvals.find(({ execution_id }) => execution_id === id);
    const workflows = await workflowsOf(role === undefined ? [] : [role], ask);
    return {
      page: executionPage(output, { item, comments, approvers, review: reviewed?.reviews[0], role, workflows }, view),
    };
  },
  'executions.extend': requested,
  'executions.list': async (output: Outputs['executions']['list'], view, ask) => {
    const me = await ask<Outputs['auth']['whoami']>('auth.whoami');
    return { page: executionsPage(output, { oversees: (me?.oversight ?? null) !== null }, view) };
  },
  'executions.signal': (output: { message: string }, view) => ({
    page: donePage(output, at('requests', String(view.input.id))),
  }),
  'executions.terminate': toExecution,
  'logs.list': (output: Outputs['logs']['list'], view) => ({ page: logsPage(output, view) }),
  'preferences.choose': () => ({ redirect: at('settings') }),
  'preferences.get': (output: Outputs['preferences']['get'], view) => ({ page: settingsPage(output, view) }),
  'program.page': (output: Outputs['program']['page'], view) => ({ page: programPage(output, view) }),
  'providers.get': async (output: Outputs['providers']['get'], view, ask) => {
    const roles = output.capabilities.includes('authorizer')
      ? await ask<Outputs['providers']['roles']>('providers.roles', { provider: output.id })
      : undefined;
    return { page: providerPage(output, roles?.roles, view) };
  },
  'providers.list': (output: Outputs['providers']['list'], view) => ({ page: providersPage(output, view) }),
  'reviews.close': (output: Outputs['reviews']['close']) => ({
    redirect: addressWith(at('reviews'), { execution_id: output.execution_id }),
  }),
  'reviews.list': (output: Outputs['reviews']['list'], view) => ({ page: reviewsPage(output, view) }),
  'roles.get': async (output: Outputs['roles']['get'], view, ask) => ({
    page: rolePage(output, await aroundRole(output, ask), view),
  }),
  'roles.list': async (output: Outputs['roles']['list'], view, ask) => {
    return { page: rolesPage(output, await aroundRoles(ask), view) };
  },
  'roles.star': toStarred,
  'roles.unstar': toStarred,
  'workflows.get': (output: Outputs['workflows']['get'], view) => ({ page: workflowPage(output, view) }),
  'workflows.list': (output: Outputs['workflows']['list'], view) => ({ page: workflowsPage(output, view) }),
};

/** Returns the address of the inbox with one approval open, or of the inbox itself for `inbox`. */
function inInbox(id: string): string {
  return addressWith(at('inbox'), { id: id === 'inbox' ? undefined : id });
}

/** Renders the inbox: the list, the request that the address opens, and its comments and approvers. */
async function renderInbox(output: Outputs['approvals']['inbox'], view: View, ask: Ask): Promise<Rendered> {
  const { id, sort, requester, cursor } = view.input;
  const fields = {
    limit: inboxPageSize,
    ...(sort ? { sort } : {}),
    ...(requester ? { requester } : {}),
    ...(cursor ? { cursor } : {}),
  };
  const list = (await ask<Outputs['approvals']['inbox']>('approvals.inbox', fields)) ?? output;
  const item = id === undefined ? list.approvals[0] : output.approvals[0];
  const [comments, approvers] = await Promise.all([
    item && ask<Outputs['comments']['list']>('comments.list', { id: item.id }),
    item && ask<Outputs['approvals']['approvers']>('approvals.approvers', { id: item.id }),
  ]);
  return { page: inboxPage(list, { item, comments, approvers }, view) };
}

/** How many ended requests are searched for recently requested roles. */
const lately = 20;

async function aroundRoles(ask: Ask): Promise<AroundRoles> {
  const [access, open, past, systems, dynamic, starred] = await Promise.all([
    ask<Outputs['access']['list']>('access.list'),
    ask<Outputs['executions']['list']>('executions.list', {}),
    ask<Outputs['executions']['list']>('executions.list', { status: 'past', limit: lately }),
    ask<Outputs['providers']['list']>('providers.list', {}),
    ask<Outputs['elevation']['dynamic']>('elevation.dynamic'),
    ask<Outputs['roles']['starred']>('roles.starred'),
  ]);
  return {
    starred: starred?.roles ?? [],
    held: access?.access ?? [],
    open: open?.executions ?? [],
    past: past?.executions ?? [],
    systems: systems?.providers ?? [],
    mayPutTogether: (dynamic?.bounds.length ?? 0) > 0,
  };
}

async function sessionsOf(view: View, ask: Ask): Promise<Outputs['sessions']['list']['sessions']> {
  const found = view.viewer === null ? undefined : await ask<Outputs['sessions']['list']>('sessions.list');
  return found?.sessions ?? {};
}

async function aroundRole(role: RoleDetails, ask: Ask): Promise<AroundRole> {
  const [workflows, starred] = await Promise.all([
    workflowsOf([role], ask),
    ask<Outputs['roles']['starred']>('roles.starred'),
  ]);
  return { workflows, starred: starred?.roles.includes(role.name) ?? false };
}

/** Returns the definitions of the roles' workflows, which name their approvers. */
async function workflowsOf(roles: readonly RoleDetails[], ask: Ask): Promise<Workflows> {
  const names = [...new Set(roles.flatMap(({ workflows }) => workflows))];
  const found = await Promise.all(
    names.map(async (name) => [name, await ask<Outputs['workflows']['get']>('workflows.get', { name })] as const),
  );
  return new Map(found.flatMap(([name, workflow]) => (workflow === undefined ? [] : [[name, workflow]])));
}

/** Renders the output of a procedure as a page; resolves to undefined when it has none. */
export async function renderOutput(
  procedure: string,
  output: unknown,
  view: View,
  ask: Ask,
): Promise<Rendered | undefined> {
  // The table pairs each procedure with a page of its output; the router's output schema has checked the shape.
  return table[procedure]?.(output as never, view, ask);
}

/** Renders lists whose filters were rejected: the filters again, and an empty list. */
const lists: Readonly<Record<string, (view: View) => Page | undefined>> = {
  'admin.logs': (view) => (view.oversight === null ? undefined : adminLogsPage({ logs: [], next: null }, view)),
  'executions.list': (view) =>
    executionsPage({ executions: [], next: null }, { oversees: view.oversight !== null }, view),
  'logs.list': (view) => logsPage({ logs: [] }, view),
};

const formsShownAgain = ['elevation.request', 'elevation.requestMany', 'elevation.suggest', 'preferences.choose'];

/** Returns whether a rejected procedure has its own page: see `renderRefused`. */
export function isShownAgain(procedure: string, { code }: ErrorBody): boolean {
  if (procedure === 'roles.get') return code === 'FORBIDDEN';
  if (Object.hasOwn(lists, procedure)) return code === 'BAD_REQUEST';
  return formsShownAgain.includes(procedure);
}

/**
 * Renders the page of a rejected form or of rejected filters, with the submitted values, or the page of a role that the caller may see but
 * not request. Resolves to undefined when there is no such page or the caller cannot see it; then the error page is shown.
 */
export async function renderRefused(procedure: string, view: View, ask: Ask): Promise<Page | undefined> {
  if (procedure === 'roles.get') return unreachedRolePage(view);
  const list = lists[procedure];
  if (list !== undefined) return list(view);
  if (procedure === 'elevation.suggest') return describePage(view);
  if (procedure === 'elevation.requestMany') return renderCart(view, ask);
  if (procedure === 'preferences.choose') {
    const preferences = await ask<Outputs['preferences']['get']>('preferences.get');
    return preferences === undefined ? undefined : settingsPage(preferences, view);
  }
  if (procedure !== 'elevation.request') return undefined;
  const name = view.input.role;
  if (name === undefined) {
    const output = await ask<Outputs['elevation']['dynamic']>('elevation.dynamic');
    return output === undefined ? undefined : dynamicPage(output, view);
  }
  const role = await ask<RoleDetails>('roles.get', { role: name });
  return role === undefined ? undefined : rolePage(role, await aroundRole(role, ask), view);
}

/**
 * Renders the page of a form that was not sent, because its sender's login had ended, with what the sender wrote. Resolves to undefined
 * when the form no longer exists. The page does not refresh itself, because it has no address of its own.
 */
export async function renderUnsent(procedure: string, view: View, ask: Ask): Promise<Page | undefined> {
  const page = await pageOfUnsent(procedure, view, ask);
  if (page === undefined) return undefined;
  const { live: _live, scripts: _scripts, ...still } = page;
  return still;
}

async function pageOfUnsent(procedure: string, view: View, ask: Ask): Promise<Page | undefined> {
  if (procedure !== 'comments.add' && procedure !== 'approvals.decide') return renderRefused(procedure, view, ask);
  const id = String(view.input.id);
  const inbox = await ask<Outputs['approvals']['inbox']>('approvals.inbox', { id });
  const [item] = inbox?.approvals ?? [];
  // With the id of an approval, the form is in the inbox, except a decision on the page of the request, which has no `next`.
  const inInbox = item?.id === id && (procedure === 'comments.add' || typeof view.input.next === 'string');
  if (inbox !== undefined && inInbox) return pageOf(await renderInbox(inbox, view, ask));
  const execution = await ask<Outputs['executions']['get']>('executions.get', { id: item?.execution_id ?? id });
  return execution && pageOf(await renderOutput('executions.get', execution, view, ask));
}

function pageOf(rendered: Rendered | undefined): Page | undefined {
  return rendered !== undefined && 'page' in rendered ? rendered.page : undefined;
}

/** Renders the confirmation before a link acts, with the execution that it is about, if the viewer can see it. */
export async function renderConfirmation(
  asked: { title: string; procedure: string; address: string; fields: Readonly<Record<string, unknown>> },
  view: View,
  ask: Ask,
): Promise<Page> {
  const { id } = asked.fields;
  const execution =
    id === undefined ? undefined : await ask<Outputs['executions']['get']>('executions.get', { id: String(id) });
  return confirmPage({ ...asked, execution }, view);
}

/** How many requests to decide are read for the start page. */
const shownAtHome = 20;

/** Renders the start page, which has no procedure. */
export async function renderHome(view: View, ask: Ask): Promise<Page> {
  const [access, inbox, executions] = await Promise.all([
    ask<Outputs['access']['list']>('access.list'),
    ask<Outputs['approvals']['inbox']>('approvals.inbox', { limit: shownAtHome }),
    ask<Outputs['executions']['list']>('executions.list', {}),
  ]);
  return homePage(
    {
      access: access ?? { access: [] },
      inbox: inbox ?? { approvals: [], next: null, total: 0, requesters: [] },
      executions: executions ?? { executions: [], next: null },
    },
    view,
  );
}

/** Renders the search, which has no procedure. */
export async function renderSearch(view: View, ask: Ask): Promise<Page> {
  const { q } = view.input;
  const named = typeof q === 'string' && q.trim() !== '' ? { q: q.trim() } : {};
  const [roles, executions, people] = await Promise.all([
    ask<Outputs['roles']['list']>('roles.list', {}),
    ask<Outputs['executions']['list']>('executions.list', {}),
    view.oversight === null ? undefined : ask<Outputs['admin']['people']>('admin.people', named),
  ]);
  const found = { roles: roles?.roles ?? {}, executions: executions?.executions ?? [], people: people?.people ?? [] };
  return searchPage(found, view);
}

/** Renders the form for several roles, whose names are in the address. */
export async function renderCart(view: View, ask: Ask): Promise<Page> {
  const found = await ask<Outputs['roles']['list']>('roles.list', {});
  return cartPage(readPicked(view, found?.roles ?? {}), view);
}
