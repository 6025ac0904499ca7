import type { z } from 'zod';
import type { accessOperations } from './access.js';
import type { adminOperations } from './admin.js';
import type { approvalOperations } from './approvals.js';
import type { authOperations, deviceOperations, programOperations } from './auth.js';
import type { commentOperations } from './comments.js';
import type { configurationOperations } from './configuration.js';
import type { elevationOperations } from './elevation.js';
import type { eventOperations } from './events.js';
import type { executionOperations } from './executions.js';
import type { logOperations } from './logs.js';
import type { preferenceOperations } from './preferences.js';
import type { providerOperations } from './providers.js';
import type { reviewOperations } from './reviews.js';
import type { roleOperations } from './roles.js';
import type { runOperations } from './runs.js';
import type { localSessionOperations, sessionOperations } from './sessions.js';
import type { systemOperations } from './system.js';
import type { workflowOperations } from './workflows.js';

/** Operations under the paths of their procedures, such as `executions.cancel`. */
type ByPath<Routers> = {
  [R in keyof Routers & string as `${R}.${keyof Routers[R] & string}`]: Routers[R];
} extends infer Groups
  ? { [P in keyof Groups]: P extends `${string}.${infer Name}` ? Groups[P][Name & keyof Groups[P]] : never }
  : never;

interface Routers {
  access: typeof accessOperations;
  admin: typeof adminOperations;
  approvals: typeof approvalOperations;
  auth: typeof authOperations;
  comments: typeof commentOperations;
  configuration: typeof configurationOperations;
  device: typeof deviceOperations;
  elevation: typeof elevationOperations;
  events: typeof eventOperations;
  executions: typeof executionOperations;
  logs: typeof logOperations;
  preferences: typeof preferenceOperations;
  program: typeof programOperations;
  providers: typeof providerOperations;
  reviews: typeof reviewOperations;
  roles: typeof roleOperations;
  runs: typeof runOperations;
  sessions: typeof sessionOperations;
  system: typeof systemOperations;
  workflows: typeof workflowOperations;
}

/** Every operation that a server has. */
export type Operations = ByPath<Routers>;

/** The operations that only agent mode and client mode have; a server rejects them with `not_configured`. */
export type LocalOperations = ByPath<{ sessions: Omit<typeof localSessionOperations, 'list'> }>;

/** The input of an operation; undefined for an operation without input. */
export type InputOf<O> = O extends { input: infer Input extends z.ZodType } ? z.input<Input> : undefined;

/** The output of an operation; for a stream, one event. */
export type OutputOf<O> = O extends { output: infer Output extends z.ZodType } ? z.output<Output> : never;

/** What goes into and comes out of each procedure of a server, by router and name. */
export type Procedures = {
  [R in keyof Routers]: {
    [Name in keyof Routers[R]]: Routers[R][Name] extends { kind: infer Kind }
      ? { kind: Kind; input: InputOf<Routers[R][Name]>; output: OutputOf<Routers[R][Name]> }
      : never;
  };
};
