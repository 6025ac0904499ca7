import { localAuthOperations } from '@belay/contract/auth';
import { configurationOperations } from '@belay/contract/configuration';
import { logOperations } from '@belay/contract/logs';
import { metadata } from '@belay/contract/metadata';
import { providerOperations } from '@belay/contract/providers';
import { roleOperations } from '@belay/contract/roles';
import { localSessionOperations } from '@belay/contract/sessions';
import { localSystemOperations } from '@belay/contract/system';
import { workflowOperations } from '@belay/contract/workflows';
import { listLocalProviders, listLocalRoles, listLocalWorkflows } from '../verbs/catalog.js';
import { getLocalSession, keepLocalSession, listLocalSessions, removeLocalSession } from '../verbs/sessions.js';
import { describeLocal, listLocalLogs, localHealth, localMetrics, localReadiness } from '../verbs/system.js';
import { open, signedIn } from './procedures.js';
import { localRouter } from './trpc.js';

const tags = ['sessions'];

export const localProvidersRouter = localRouter({
  list: signedIn
    .meta(metadata.providers.list)
    .input(providerOperations.list.input)
    .output(providerOperations.list.output)
    .query(({ ctx, input }) => listLocalProviders(ctx.local, ctx.person, input)),
});

export const localRolesRouter = localRouter({
  list: signedIn
    .meta(metadata.roles.list)
    .input(roleOperations.list.input)
    .output(roleOperations.list.output)
    .query(({ ctx, input }) => listLocalRoles(ctx.local, ctx.person, input)),
});

export const localWorkflowsRouter = localRouter({
  // Needs a login in server mode only (docs/interface.md, section 8, rule 1).
  list: open
    .meta({ ...metadata.workflows.list, rest: { ...metadata.workflows.list.rest, public: true } })
    .output(workflowOperations.list.output)
    .query(({ ctx }) => listLocalWorkflows(ctx.local, ctx.person ?? undefined)),
});

export const localAuthRouter = localRouter({
  page: open
    .meta(metadata.auth.page)
    .input(localAuthOperations.page.input)
    .output(localAuthOperations.page.output)
    // A GET although it starts a sign-in: it changes nothing that a caller could rely on, like the server's own page.
    .query(({ ctx, input }) => {
      const { url, code, expiresIn } = ctx.local.logins.begin(input);
      if (ctx.request.accepts === 'html') ctx.reply.location = url;
      return { providers: [], url, code, expires_in: expiresIn };
    }),
});

export const localConfigurationRouter = localRouter({
  describe: open
    .meta(metadata.configuration.describe)
    .output(configurationOperations.describe.output)
    .query(({ ctx }) => describeLocal(ctx.local)),
});

export const localSessionsRouter = localRouter({
  list: open
    .meta({ ...metadata.sessions.list, rest: { public: true } })
    .output(localSessionOperations.list.output)
    .query(({ ctx }) => listLocalSessions(ctx.local)),
  /** For programs: client mode has no /auth (docs/interface.md, section 2), but it needs a way to start a sign-in. */
  begin: open
    .input(localSessionOperations.begin.input)
    .output(localSessionOperations.begin.output)
    .mutation(({ ctx, input }) => {
      const { url, code, expiresIn } = ctx.local.logins.begin(input);
      return { url, code, expires_in: expiresIn };
    }),
  get: open
    .meta({
      openapi: { method: 'GET', path: '/session/{provider}', tags, summary: 'Read one session' },
      rest: { public: true },
    })
    .input(localSessionOperations.get.input)
    .output(localSessionOperations.get.output)
    .query(({ ctx, input }) => getLocalSession(ctx.local, input)),
  keep: open
    .meta({
      openapi: {
        method: 'POST',
        path: '/sessions',
        tags,
        summary: 'Store the session of a sign-in that started on this machine',
      },
      rest: { public: true },
    })
    .input(localSessionOperations.keep.input)
    .output(localSessionOperations.keep.output)
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
    .input(localSessionOperations.remove.input)
    .output(localSessionOperations.remove.output)
    .mutation(({ ctx, input }) => removeLocalSession(ctx.local, input)),
});

export const localSystemRouter = localRouter({
  health: open
    .meta(metadata.system.health)
    .output(localSystemOperations.health.output)
    .query(({ ctx }) => {
      const found = localHealth(ctx.local, ctx.request);
      ctx.reply.status = found.status === 'unhealthy' ? 503 : 200;
      return found;
    }),
  ready: open
    .meta(metadata.system.ready)
    .output(localSystemOperations.ready.output)
    .query(({ ctx }) => {
      const found = localReadiness(ctx.local);
      ctx.reply.status = found.status === 'ready' ? 200 : 503;
      return found;
    }),
  metrics: open
    .meta(metadata.system.metrics)
    .output(localSystemOperations.metrics.output)
    .query(({ ctx: { local, host } }) =>
      localMetrics(local, { uptimeMilliseconds: host.uptimeMilliseconds(), requests: host.requests() }),
    ),
});

export const localLogsRouter = localRouter({
  // Needs a login in server mode only (docs/interface.md, section 10).
  list: open
    .meta({ ...metadata.logs.list, rest: { ...metadata.logs.list.rest, public: true } })
    .input(logOperations.list.input)
    .output(logOperations.list.output)
    .query(({ ctx, input }) => listLocalLogs(ctx.local, input)),
});
