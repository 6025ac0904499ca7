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

/** What the interface gives agent mode, and nothing more. */
export const agentRouter = localRouter({
  ...everyMode,
  auth: localAuthRouter,
  providers: localProvidersRouter,
  roles: localRolesRouter,
  workflows: localWorkflowsRouter,
});

/** What the interface gives client mode, and nothing more. */
export const clientRouter = localRouter(everyMode);
