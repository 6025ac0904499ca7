import { agents } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import { requireAgent } from '../actor.js';
import { digestOf } from '../canonical.js';
import { versionText } from '../catalog/version.js';
import type { ActorContext } from '../context.js';
import { AccessError } from '../errors.js';
import { taskQueue } from '../executions/list.js';
import { appendLedger } from '../ledger/append.js';
import { requireText } from '../text.js';
import { type Definitions, describeDefinitions } from './definitions.js';
import { signForAgents } from './sign.js';
import type { Signature } from './signature.js';

export interface AgentEnvironment {
  name: string;
  description: string;
}

export interface Registration extends Definitions {
  success: boolean;
  services: {
    workflow_engine: { enabled: boolean; namespace: string; task_queue: string };
    llm: { enabled: boolean; provider: string };
  };
  catalog_version: string;
  /** Of the digest of everything else in this answer, for this agent and this version. */
  signature: Signature;
}

/**
 * Registers the agent that calls and gives it the whole configuration in force, without a secret (interface, POST
 * /register; design §14.12). Known by its credential, so that a repetition changes nothing but what it says of itself.
 */
export async function registerAgent(
  ctx: ActorContext,
  input: { environment: AgentEnvironment },
): Promise<Registration> {
  const agent = requireAgent(ctx);
  const environment = requireText(input.environment.name, 'environment.name', 200);
  const description = requireText(input.environment.description, 'environment.description', 2_000);
  const catalog = ctx.catalog.current();
  const catalogVersion = catalog.version;
  await ctx.db.transaction(async (tx) => {
    const [before] = await tx.select().from(agents).where(eq(agents.id, agent.id)).for('update');
    if (!before) throw new AccessError('unauthenticated', 'The agent is unknown');
    const now = sql`app_now()`;
    await tx
      .update(agents)
      .set({ environment, description, catalogVersion, registeredAt: before.registeredAt ?? now, seenAt: now })
      .where(eq(agents.id, agent.id));
    const same =
      before.registeredAt !== null &&
      before.environment === environment &&
      before.description === description &&
      before.catalogVersion === catalogVersion;
    if (same) return;
    await appendLedger(tx, [
      {
        type: 'agent.registered',
        message: `The agent "${agent.name}" has the configuration ${versionText(catalogVersion)}`,
        actor: agent,
        data: { environment, catalog_version: catalogVersion },
      },
    ]);
  });
  const answer = {
    success: true,
    catalog_version: versionText(catalogVersion),
    services: {
      workflow_engine: { enabled: true, namespace: 'belay', task_queue: taskQueue },
      llm: describeLlm(catalog.document.services?.llm),
    },
    ...describeDefinitions(catalog),
  };
  const statement = {
    kind: 'configuration',
    agent: agent.id,
    version: answer.catalog_version,
    // As it arrives: what JSON leaves out is not part of it.
    digest: digestOf(JSON.parse(JSON.stringify(answer))),
  };
  return { ...answer, signature: signForAgents(ctx, statement) };
}

/** Whether a model is configured and of which kind; never where it is or with what key. */
function describeLlm(llm: unknown): { enabled: boolean; provider: string } {
  if (llm === null || typeof llm !== 'object' || Array.isArray(llm)) return { enabled: false, provider: 'none' };
  const { provider, enabled } = llm as { provider?: unknown; enabled?: unknown };
  const named = typeof provider === 'string' && /^[A-Za-z0-9._-]{1,60}$/.test(provider);
  return enabled === false
    ? { enabled: false, provider: 'none' }
    : { enabled: true, provider: named ? provider : 'other' };
}
