import { adoptCredential, readApiConfiguration, readSync, registerAgent, reportAgent } from '@belay/core';
import { z } from 'zod';
import { declaredConfiguration } from '../declared/configuration.js';
import { agentOnly, publicProcedure, recognised } from '../procedures.js';
import { instant, name, remark } from '../text.js';
import { router } from '../trpc.js';

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
const audience = z.object({ users: z.array(z.string()).exactOptional(), groups: z.array(z.string()).exactOptional() });
const signature = z
  .object({
    key: z.object({ kid: z.string(), x: z.string() }),
    announced: z.array(z.string()).describe('Statements of older keys that name this one'),
    statement: z.string().describe('JWS (EdDSA) over the version and the digest of everything else in this answer'),
  })
  .describe('By the key that an agent pins when it enrols');
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
        permissions: audience.exactOptional(),
        max_duration: z.string(),
        default_duration: z.string(),
        reason: z.object({ required: z.boolean(), pattern: z.string().exactOptional() }),
      }),
    ),
  }),
  providers: z.object({
    definitions: z.record(
      z.string(),
      z.object({
        name: z.string(),
        provider: z.string(),
        description: z.string(),
        enabled: z.boolean(),
        capabilities: z.array(z.string()),
        permissions: audience.exactOptional(),
      }),
    ),
  }),
  workflows: z.object({
    definitions: z.record(
      z.string(),
      z.object({ name: z.string(), description: z.string(), enabled: z.boolean(), steps: z.array(step) }),
    ),
  }),
  catalog_version: z.string(),
  signature,
});

export const configurationRouter = router({
  describe: publicProcedure
    .meta(declaredConfiguration.describe.meta)
    .output(declaredConfiguration.describe.output)
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
  adopt: agentOnly
    .meta({
      openapi: {
        method: 'POST',
        path: '/register/credential',
        tags,
        summary: 'Put a credential of its own making in the place of the one that an agent was enrolled with',
      },
    })
    .input(z.strictObject({ credential: z.string().regex(/^belay-agent\.[A-Za-z0-9_-]{43}$/) }))
    .output(z.object({ success: z.boolean(), expires_at: instant }))
    .mutation(({ ctx, input }) => adoptCredential(ctx.caller, { ...input, presented: ctx.token ?? '' })),
  sync: recognised
    .meta({
      openapi: { method: 'GET', path: '/sync', tags, summary: 'Read the version of the configuration in force' },
    })
    .output(z.object({ version: z.string(), timestamp: instant, catalog_version: z.string(), signature }))
    .query(({ ctx }) => readSync(ctx.caller)),
});
