import { configurationOperations } from '@belay/contract/configuration';
import { metadata } from '@belay/contract/metadata';
import { adoptCredential, readApiConfiguration, readSync, registerAgent, reportAgent } from '@belay/core';
import { agentOnly, publicProcedure, recognised } from '../procedures.js';
import { router } from '../trpc.js';

const tags = ['configuration'];

export const configurationRouter = router({
  describe: publicProcedure
    .meta(metadata.configuration.describe)
    .output(configurationOperations.describe.output)
    .query(({ ctx }) => readApiConfiguration(ctx.core)),
  preflight: agentOnly
    .meta({
      openapi: {
        method: 'POST',
        path: '/preflight',
        tags,
        summary: 'Report, as an agent, the checks made before registration',
      },
    })
    .input(configurationOperations.preflight.input)
    .output(configurationOperations.preflight.output)
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
    .input(configurationOperations.register.input)
    .output(configurationOperations.register.output)
    .mutation(({ ctx, input }) => registerAgent(ctx.caller, input)),
  postflight: agentOnly
    .meta({
      openapi: {
        method: 'POST',
        path: '/postflight',
        tags,
        summary: 'Report, as an agent, the checks made after setup',
      },
    })
    .input(configurationOperations.postflight.input)
    .output(configurationOperations.postflight.output)
    .mutation(({ ctx, input }) => reportAgent(ctx.caller, 'postflight', input)),
  adopt: agentOnly
    .meta({
      openapi: {
        method: 'POST',
        path: '/register/credential',
        tags,
        summary: 'Replace the credential that an agent was enrolled with by one that the agent generated',
      },
    })
    .input(configurationOperations.adopt.input)
    .output(configurationOperations.adopt.output)
    .mutation(({ ctx, input }) => adoptCredential(ctx.caller, { ...input, presented: ctx.token ?? '' })),
  sync: recognised
    .meta({
      openapi: { method: 'GET', path: '/sync', tags, summary: 'Read the version of the configuration in force' },
    })
    .output(configurationOperations.sync.output)
    .query(({ ctx }) => readSync(ctx.caller)),
});
