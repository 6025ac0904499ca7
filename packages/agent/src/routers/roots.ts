import {
  localAuthRouter,
  localConfigurationRouter,
  localLogsRouter,
  localProvidersRouter,
  localRolesRouter,
  localSessionsRouter,
  localSystemRouter,
  localWorkflowsRouter,
} from './routers.js';
import { localRouter } from './trpc.js';

const everyMode = {
  configuration: localConfigurationRouter,
  logs: localLogsRouter,
  sessions: localSessionsRouter,
  system: localSystemRouter,
};

/** The operations of agent mode, and no others. */
export const agentRouter = localRouter({
  ...everyMode,
  auth: localAuthRouter,
  providers: localProvidersRouter,
  roles: localRolesRouter,
  workflows: localWorkflowsRouter,
});

/** The operations of client mode, and no others. */
export const clientRouter = localRouter(everyMode);
