import { readApiConfiguration, readSync, registerAgent, reportAgent } from '@belay/core';
import { z } from 'zod';
import { agentOnly, publicProcedure, recognised } from '../procedures.js';
import { instant, name, remark } from '../text.js';
import { router } from '../trpc.js';

const apiConfiguration = z.object({
  serviceName: z.string(),
  serviceType: z.string(),
  version: z.string(),
  baseUrl: z.string(),
  apiBasePath: z.string(),
  authEndpoint: z.string(),
  authMethods: z.array(z.string()),
  docsUrl: z.string(),
  openApiSpec: z.string(),
  capabilities: z.object({ workflow_engine: z.boolean(), vault: z.boolean() }),
});
const tags = ['configuration'];

const environment = z.strictObject({ name, description: remark });
const report = z.strictObject({
  environment: environment.optional(),
  version: name.optional().describe("Of the agent's program"),
  catalog_version: name.optional().describe('Of the configuration that the agent has'),
  checks: z
    .array(z.strictObject({ name, ok: z.boolean(), message: remark.optional() }))
    .max(50)
    .optional(),
});
const reported = z.object({
  success: z.boolean().describe('The report was taken, and no check in it failed'),
  version: z.string(),
  timestamp: instant,
  catalog_version: z.string(),
  current: z.boolean().describe('Whether the agent has the configuration in force'),
});

const step = z.object({
  name: z.string(),
  path: z.string().describe('JSON pointer into the document, such as /do/0/validate'),
  task: z.string(),
  call: z.string().exactOptional(),
});
const registration = z.object({
  success: z.boolean(),
  services: z.object({
    workflow_engine: z.object({ enabled: z.boolean(), namespace: z.string(), task_queue: z.string() }),
    llm: z.object({ enabled: z.boolean(), provider: z.string() }),
  }),
  roles: z.object({
    definitions: z.record(
      z.string(),
      z.object({
        name: z.string(),
        description: z.string(),
        providers: z.array(z.string()),
        workflows: z.array(z.string()),
        enabled: z.boolean(),
        permissions: z
          .object({ users: z.array(z.string()).exactOptional(), groups: z.array(z.string()).exactOptional() })
          .exactOptional(),
        max_duration: z.string(),
        default_duration: z.string(),
      }),
    ),
  }),
  providers: z.object({ definitions: z.record(z.string(), z.object({ name: z.string(), provider: z.string() })) }),
  workflows: z.object({
    definitions: z.record(z.string(), z.object({ name: z.string(), steps: z.array(step) })),
  }),
});

export const configurationRouter = router({
  describe: publicProcedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/.well-known/api-configuration',
        tags,
        protect: false,
        summary: 'Say what this service is and where its parts are',
      },
      rest: { public: true, atRoot: true },
    })
    .output(apiConfiguration)
    .query(({ ctx }) => readApiConfiguration(ctx.core)),
  preflight: agentOnly
    .meta({
      openapi: {
        method: 'POST',
        path: '/preflight',
        tags,
        summary: 'Say, as an agent, how it stands before registering',
      },
    })
    .input(report)
    .output(reported)
    .mutation(({ ctx, input }) => reportAgent(ctx.caller, 'preflight', input)),
  register: agentOnly
    .meta({
      openapi: {
        method: 'POST',
        path: '/register',
        tags,
        summary: 'Register an agent and read the whole configuration in force',
      },
    })
    .input(z.strictObject({ environment }))
    .output(registration)
    .mutation(({ ctx, input }) => registerAgent(ctx.caller, input)),
  postflight: agentOnly
    .meta({
      openapi: { method: 'POST', path: '/postflight', tags, summary: 'Say, as an agent, how it stands once set up' },
    })
    .input(report)
    .output(reported)
    .mutation(({ ctx, input }) => reportAgent(ctx.caller, 'postflight', input)),
  sync: recognised
    .meta({
      openapi: { method: 'GET', path: '/sync', tags, summary: 'Read the version of the configuration in force' },
    })
    .output(z.object({ version: z.string(), timestamp: instant, catalog_version: z.string() }))
    .query(({ ctx }) => readSync(ctx.caller)),
});
