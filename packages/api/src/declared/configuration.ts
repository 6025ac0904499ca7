import type { Meta } from '@belay/rest';
import { z } from 'zod';

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
  deviceEndpoint: z.string().describe('Where a machine without a browser begins to sign in (RFC 8628)'),
  capabilities: z.object({ workflow_engine: z.boolean(), vault: z.boolean() }),
});

/** What every mode says alike of itself. */
export const declaredConfiguration = {
  describe: {
    meta: {
      openapi: {
        method: 'GET',
        path: '/.well-known/api-configuration',
        tags: ['configuration'],
        protect: false,
        summary: 'Say what this service is and where its parts are',
      },
      rest: { public: true, atRoot: true },
    },
    output: apiConfiguration,
  },
} satisfies Record<string, { meta: Meta; output: z.ZodType }>;
