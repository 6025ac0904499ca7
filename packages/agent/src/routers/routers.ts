import {
  declaredAuth,
  declaredConfiguration,
  declaredLogs,
  declaredProviders,
  declaredRoles,
  declaredSessions,
  declaredSystem,
  declaredWorkflows,
  instant,
  name,
  next,
  opaque,
  paging,
  sessionSummary,
} from '@belay/api/agent';
import { z } from 'zod';
import { listLocalProviders, listLocalRoles, listLocalWorkflows } from '../verbs/catalog.js';
import { getLocalSession, keepLocalSession, listLocalSessions, removeLocalSession } from '../verbs/sessions.js';
import { describeLocal, listLocalLogs, localHealth, localMetrics, localReadiness } from '../verbs/system.js';
import { open, signedIn } from './procedures.js';
import { localRouter } from './trpc.js';

const configuration = z
  .object({
    version: z.string(),
    received_at: z.string(),
    confirmed_at: instant.nullable().describe('When the server last said that it is in force'),
    age: z.string().describe('ISO 8601 duration since then'),
    server: z.string().describe('Whether the server answers'),
  })
  .nullable();
const session = sessionSummary.extend({ session: z.string() });
const begun = {
  url: z.string().describe('Where the sign-in goes on, at the server'),
  code: z.string().describe('Proves to POST /sessions that the sign-in was begun here; good once'),
  expires_in: z.number().int().describe('Seconds'),
};
const message = z.object({ message: z.string() });
const tags = ['sessions'];

export const localProvidersRouter = localRouter({
  list: signedIn
    .meta(declaredProviders.list.meta)
    .input(declaredProviders.list.input)
    .output(declaredProviders.list.output)
    .query(({ ctx, input }) => listLocalProviders(ctx.local, ctx.person, input)),
});

export const localRolesRouter = localRouter({
  list: signedIn
    .meta(declaredRoles.list.meta)
    .input(declaredRoles.list.input.extend(paging))
    .output(declaredRoles.list.output.extend({ next }))
    .query(({ ctx, input }) => listLocalRoles(ctx.local, ctx.person, input)),
});

export const localWorkflowsRouter = localRouter({
  // Needs a login in server mode only (interface, Workflows 1).
  list: open
    .meta({ ...declaredWorkflows.list.meta, rest: { ...declaredWorkflows.list.meta.rest, public: true } })
    .output(declaredWorkflows.list.output)
    .query(({ ctx }) => listLocalWorkflows(ctx.local, ctx.person ?? undefined)),
});

export const localAuthRouter = localRouter({
  page: open
    .meta({
      ...declaredAuth.page.meta,
      rest: { public: true, html: 'preferred', redirect: { status: 302, always: false } },
    })
    .input(declaredAuth.page.input.omit({ code_challenge: true, code_challenge_method: true }))
    .output(declaredAuth.page.output.extend(begun))
    // Changes nothing that anybody could rely on, as the server's own page does not.
    .query(({ ctx, input }) => {
      const { url, code, expiresIn } = ctx.local.logins.begin(input);
      if (ctx.request.accepts === 'html') ctx.reply.location = url;
      return { providers: [], url, code, expires_in: expiresIn };
    }),
});

export const localConfigurationRouter = localRouter({
  describe: open
    .meta(declaredConfiguration.describe.meta)
    .output(declaredConfiguration.describe.output)
    .query(({ ctx }) => describeLocal(ctx.local)),
});

export const localSessionsRouter = localRouter({
  list: open
    .meta({ ...declaredSessions.list.meta, rest: { public: true } })
    .output(declaredSessions.list.output.extend({ sessions: z.record(z.string(), session) }))
    .query(({ ctx }) => listLocalSessions(ctx.local)),
  /** For programs: client mode has no /auth (interface, Authentication endpoints), and yet something has to begin a sign-in. */
  begin: open
    .input(z.strictObject({ provider: name.optional() }))
    .output(z.object(begun))
    .mutation(({ ctx, input }) => {
      const { url, code, expiresIn } = ctx.local.logins.begin(input);
      return { url, code, expires_in: expiresIn };
    }),
  get: open
    .meta({
      openapi: { method: 'GET', path: '/session/{provider}', tags, summary: 'Read one session' },
      rest: { public: true },
    })
    .input(z.strictObject({ provider: name }))
    .output(z.object({ session }))
    .query(({ ctx, input }) => getLocalSession(ctx.local, input)),
  keep: open
    .meta({
      openapi: { method: 'POST', path: '/sessions', tags, summary: 'Keep the session of a sign-in begun here' },
      rest: { public: true },
    })
    .input(z.strictObject({ code: opaque, provider: name, session: opaque }))
    .output(message.extend({ expiry: instant }))
    .mutation(({ ctx, input }) => keepLocalSession(ctx.local, input)),
  remove: open
    .meta({
      openapi: {
        method: 'DELETE',
        path: '/session/{provider}',
        tags,
        summary: 'Remove a session from this machine; tokens at the provider are not revoked',
      },
      rest: { public: true },
    })
    .input(z.strictObject({ provider: name }))
    .output(message)
    .mutation(({ ctx, input }) => removeLocalSession(ctx.local, input)),
});

export const localSystemRouter = localRouter({
  health: open
    .meta(declaredSystem.health.meta)
    .output(declaredSystem.health.output.extend({ configuration, clock: z.string().optional() }))
    .query(({ ctx }) => {
      const found = localHealth(ctx.local, ctx.request);
      ctx.reply.status = found.status === 'unhealthy' ? 503 : 200;
      return found;
    }),
  ready: open
    .meta(declaredSystem.ready.meta)
    .output(declaredSystem.ready.output.extend({ configuration }))
    .query(({ ctx }) => {
      const found = localReadiness(ctx.local);
      ctx.reply.status = found.status === 'ready' ? 200 : 503;
      return found;
    }),
  metrics: open
    .meta(declaredSystem.metrics.meta)
    .output(declaredSystem.metrics.output)
    .query(({ ctx: { local, host } }) =>
      localMetrics(local, { uptimeMilliseconds: host.uptimeMilliseconds(), requests: host.requests() }),
    ),
});

export const localLogsRouter = localRouter({
  // Needs a login in server mode only (interface, Logs).
  list: open
    .meta({ ...declaredLogs.list.meta, rest: { ...declaredLogs.list.meta.rest, public: true } })
    .input(declaredLogs.list.input)
    .output(declaredLogs.list.output)
    .query(({ ctx, input }) => listLocalLogs(ctx.local, input)),
});
