import type { RequestContext } from '@belay/api';
import {
  type Ask,
  errorPage,
  type Frame,
  isShownAgain,
  renderCart,
  renderConfirmation,
  renderHome,
  renderOutput,
  renderPage,
  renderRefused,
  renderSearch,
  renderUnsent,
  type View,
} from '@belay/console';
import { isSignatureOf, keepUnsent, signForm, type UnsentForm } from '@belay/core';
import { confirmationToken, isForeseen, type Renderer, type Shown } from '@belay/rest';
import { type AnyTRPCRouter, callTRPCProcedure } from '@trpc/server';
import { type Site, signInFor } from './identify.js';

/** The fields of a query; a field that occurs several times has a list of values. */
type Fields = Readonly<Record<string, string | string[]>>;

export interface Pages extends Renderer<RequestContext> {
  /** Render the pages without a procedure. */
  home(context: RequestContext, fields: Fields): Promise<string>;
  search(context: RequestContext, fields: Fields): Promise<string>;
  cart(context: RequestContext, fields: Fields): Promise<string>;
  /** Renders a form that was not sent, filled in; undefined when its page no longer exists. */
  unsentForm(
    context: RequestContext,
    form: Pick<UnsentForm, 'procedure' | 'action' | 'fields'>,
  ): Promise<string | undefined>;
  /** Renders the page that keeps a sealed form until the caller has signed in again. */
  signInFirst(context: RequestContext, sealed: string): string;
}

/** Creates the renderer of the console's pages from the outputs of a router's procedures. */
export function createPages(router: AnyTRPCRouter, basePath: string, verify: Site['verify']): Pages {
  const open = async (context: RequestContext, input: Shown<RequestContext>['input']) => {
    const ask = createAsk(router, context);
    return { ask, view: await createView({ router, basePath, context, input }, ask) };
  };
  const unsentForm: Pages['unsentForm'] = async (context, { procedure, action, fields }) => {
    const { ask, view } = await open(context, fields);
    const shown = { ...view, unsent: action };
    const page = await renderUnsent(procedure, shown, ask);
    return page === undefined ? undefined : renderPage(page, shown);
  };
  const signInFirst: Pages['signInFirst'] = (context, sealed) => {
    const frame = { ...frameOf(context, basePath), sealed };
    const body = { message: signInMessage, code: 'UNAUTHORIZED' };
    return renderPage(errorPage(401, body, context.request.id, frame), frame);
  };
  return {
    unsentForm,
    signInFirst,
    async unsent({ operation: { procedure }, context, input: fields, address: action, shownTo: signature }) {
      const { core, actor } = context;
      if (actor === null) {
        const sealed = await keepUnsent(core, { procedure, action, signature, fields });
        return sealed === undefined ? undefined : signInFirst(context, sealed);
      }
      const isTheirs =
        actor.kind === 'user' && (await isSignatureOf(core.keyring, signature, { userId: actor.id, action }));
      return isTheirs ? unsentForm(context, { procedure, action, fields }) : undefined;
    },
    async output({ operation, context, input }, output) {
      const { ask, view } = await open(await seenBy(context, verify), input);
      const rendered = await renderOutput(operation.procedure, output, view, ask);
      if (rendered === undefined || 'redirect' in rendered) return rendered;
      return { markup: renderPage(rendered.page, rendered.view ?? view), leadsTo: rendered.page.leadsTo };
    },
    async confirmation({ operation, context, input }, { title, address }) {
      const { ask, view } = await open(context, input);
      const asked = { title, procedure: operation.procedure, address, fields: input };
      return renderPage(await renderConfirmation(asked, view, ask), view);
    },
    async rejected({ operation, context, input }, refused) {
      // Otherwise an error page is shown, which does not need the database.
      if (!isShownAgain(operation.procedure, refused)) return undefined;
      const { ask, view } = await open(context, input);
      const shown = { ...view, refused };
      const page = await renderRefused(operation.procedure, shown, ask);
      return page === undefined ? undefined : renderPage(page, shown);
    },
    error({ id, status, body, context }) {
      const frame = context === undefined ? anonymous(basePath) : frameOf(context, basePath);
      return renderPage(errorPage(status, body, id, frame), frame);
    },
    async home(context, fields) {
      const { ask, view } = await open(context, fields);
      return renderPage(await renderHome(view, ask), view);
    },
    async cart(context, fields) {
      const { ask, view } = await open(context, fields);
      return renderPage(await renderCart(view, ask), view);
    },
    async search(context, fields) {
      const { ask, view } = await open(context, fields);
      return renderPage(await renderSearch(view, ask), view);
    },
  };
}

const signInMessage = 'The session has ended; sign in again';

/** Returns the frame of a page for a caller who is not signed in. */
export function anonymous(basePath: string): Frame {
  return { basePath, path: '', viewer: null, waiting: 0, oversight: null, csrf: () => '', shownTo: () => '' };
}

/** Returns a function that calls procedures for a page as the caller. It returns undefined for an expected error. */
function createAsk(router: AnyTRPCRouter, context: RequestContext): Ask {
  return async <Output>(procedure: string, input?: object) => {
    if (!(procedure in router._def.procedures)) return undefined;
    try {
      const output: unknown = await callTRPCProcedure({
        router,
        path: procedure,
        type: 'query',
        // A separate reply, so that headers and cookies of this procedure are not sent with the page.
        ctx: { ...context, reply: { headers: {}, cookies: [] } },
        getRawInput: async () => input,
        signal: undefined,
        batchIndex: 0,
      });
      return output as Output;
    } catch (error) {
      if (isForeseen(error)) return undefined;
      throw error;
    }
  };
}

/** Returns the frame of a caller's pages. */
function frameOf(context: RequestContext, basePath: string): Frame {
  const { core, actor, token, request } = context;
  const sentFrom = pageOfForm(context, basePath);
  return {
    ...(sentFrom === undefined ? {} : { sentFrom }),
    basePath,
    path: request.path,
    viewer: actor?.kind === 'user' ? { name: actor.name, email: actor.email } : null,
    waiting: 0,
    oversight: null,
    csrf: (action) => confirmationToken(token ?? '', action),
    shownTo: (action) => (actor?.kind === 'user' ? signForm(core.keyring, { userId: actor.id, action }) : ''),
  };
}

/** Returns the page of this server whose form this request sends, as the browser names it. */
function pageOfForm({ request }: RequestContext, basePath: string): Frame['sentFrom'] {
  const { referer } = request.headers;
  if (request.method !== 'POST' || referer === undefined || !URL.canParse(referer)) return undefined;
  const { origin, pathname, search } = new URL(referer);
  // A path that begins with two slashes would name another host.
  if (origin !== request.url.origin || pathname.startsWith('//')) return undefined;
  const path = `${pathname}${search}`;
  return { path, signIn: signInFor({ baseUrl: request.url, basePath }, path) };
}

/** Returns the input of every page: the viewer and the number of requests that wait for them. */
async function createView(
  shown: { router: AnyTRPCRouter; basePath: string; context: RequestContext; input: Shown<RequestContext>['input'] },
  ask: Ask,
): Promise<View> {
  const { router, basePath, context, input } = shown;
  const frame = frameOf(context, basePath);
  const [inbox, whoami, reviews] =
    frame.viewer === null
      ? []
      : await Promise.all([
          ask<{ total: number }>('approvals.inbox', { limit: 1 }),
          ask<{ oversight?: 'administrator' | 'auditor' }>('auth.whoami'),
          ask<{ reviews: unknown[] }>('reviews.list', { limit: 1 }),
        ]);
  return {
    ...frame,
    input,
    now: context.core.clock(),
    once: () => context.core.newId(),
    waiting: inbox?.total ?? 0,
    oversight: whoami?.oversight ?? null,
    reviews: (reviews?.reviews.length ?? 0) > 0,
    offers: (procedure) => procedure in router._def.procedures,
  };
}

/** Returns the context of the person who sees the response; after a sign-in or sign-out, it differs from that of the request. */
async function seenBy(context: RequestContext, verify: Site['verify']): Promise<RequestContext> {
  const cookie = context.reply.cookies.findLast(({ kind }) => kind === 'login');
  if (cookie === undefined) return context;
  const login = cookie.value === null ? null : await verify(cookie.value);
  return { ...context, token: cookie.value, actor: login?.actor ?? null };
}
