import { accessRouter } from './routers/access.js';
import { adminRouter } from './routers/admin.js';
import { approvalsRouter } from './routers/approvals.js';
import { authRouter } from './routers/auth.js';
import { commentsRouter } from './routers/comments.js';
import { configurationRouter } from './routers/configuration.js';
import { deviceRouter } from './routers/device.js';
import { elevationRouter } from './routers/elevation.js';
import { eventsRouter } from './routers/events.js';
import { executionsRouter } from './routers/executions.js';
import { hooksRouter } from './routers/hooks.js';
import { logsRouter } from './routers/logs.js';
import { preferencesRouter } from './routers/preferences.js';
import { programRouter } from './routers/program.js';
import { providersRouter } from './routers/providers.js';
import { reviewsRouter } from './routers/reviews.js';
import { rolesRouter } from './routers/roles.js';
import { runsRouter } from './routers/runs.js';
import { sessionsRouter } from './routers/sessions.js';
import { systemRouter } from './routers/system.js';
import { workflowsRouter } from './routers/workflows.js';
import { router } from './trpc.js';

/** The router of server mode: every operation. */
export const serverRouter = router({
  access: accessRouter,
  admin: adminRouter,
  approvals: approvalsRouter,
  auth: authRouter,
  comments: commentsRouter,
  configuration: configurationRouter,
  device: deviceRouter,
  elevation: elevationRouter,
  events: eventsRouter,
  executions: executionsRouter,
  hooks: hooksRouter,
  logs: logsRouter,
  preferences: preferencesRouter,
  program: programRouter,
  providers: providersRouter,
  reviews: reviewsRouter,
  roles: rolesRouter,
  runs: runsRouter,
  sessions: sessionsRouter,
  system: systemRouter,
  workflows: workflowsRouter,
});

/** The type of the router, from which the console takes the types of outputs. */
export type AppRouter = typeof serverRouter;
