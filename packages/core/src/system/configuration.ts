import type { ConfigurationSignature } from '@belay/contract/configuration';
import { AccessError } from '@belay/contract/errors';
import { programVersion } from '@belay/contract/system';
import { describeForAgents } from '../agents/describe.js';
import { signForAgents } from '../agents/sign.js';
import type { ActorContext, Context } from '../context.js';
import { readNow } from '../now.js';

/** Returns the description of this service and the addresses of its parts (GET /.well-known/api-configuration). */
export function readApiConfiguration(ctx: Context) {
  const baseUrl = ctx.program.baseUrl.replace(/\/$/, '');
  return {
    serviceName: 'belay',
    serviceType: 'server',
    version: ctx.program.version,
    baseUrl,
    apiBasePath: '/api/v1',
    authEndpoint: `${baseUrl}/api/v1/auth`,
    authMethods: ['session', 'bearer'],
    docsUrl: `${baseUrl}/api/v1/reference`,
    openApiSpec: `${baseUrl}/api/v1/openapi.json`,
    deviceEndpoint: `${baseUrl}/api/v1/auth/device/authorization`,
    capabilities: { workflow_engine: true, vault: ctx.vault?.configured() ?? false },
  };
}

/**
 * Returns the versions of the program and of the configuration in force, for people and agents (GET /sync;
 * docs/interface.md, section 16, rule 10).
 */
export async function readSync(
  ctx: ActorContext,
): Promise<{ version: string; timestamp: string; catalog_version: string; signature: ConfigurationSignature }> {
  if (ctx.actor.kind !== 'user' && ctx.actor.kind !== 'agent')
    throw new AccessError('unauthenticated', 'Sign in first');
  const now = await readNow(ctx.db);
  const timestamp = now.toISOString();
  const { answer, digest } = describeForAgents(ctx.catalog.current());
  const { catalog_version } = answer;
  const signature = await signForAgents(ctx, { kind: 'sync', version: catalog_version, digest, timestamp }, now);
  return { version: programVersion(ctx), timestamp, catalog_version, signature };
}
