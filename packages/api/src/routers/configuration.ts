import { readApiConfiguration, readSync } from '@belay/core';
import { z } from 'zod';
import { authenticated, publicProcedure } from '../procedures.js';
import { instant } from '../text.js';
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
  sync: authenticated
    .meta({
      openapi: { method: 'GET', path: '/sync', tags, summary: 'Read the version of the configuration in force' },
    })
    .output(z.object({ version: z.string(), timestamp: instant, catalog_version: z.string() }))
    .query(({ ctx }) => readSync(ctx.caller)),
});
