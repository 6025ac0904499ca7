import type { AgentEnvironment, Registration } from '@belay/contract/configuration';
import { AccessError } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { agents } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import { requireAgent } from '../actor.js';
import { versionText } from '../configuration/catalog.js';
import type { ActorContext } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { requireText } from '../text.js';
import { describeForAgents } from './describe.js';
import { signForAgents } from './sign.js';

/**
 * Registers the calling agent and returns the whole configuration in force, without secrets (POST /register;
 * docs/interface.md, section 16, rule 12). The agent is identified by its credential, so a repeated call updates the
 * agent's row and creates no other agent.
 */
export async function registerAgent(
  ctx: ActorContext,
  input: { environment: AgentEnvironment },
): Promise<Registration> {
  const agent = requireAgent(ctx);
  const environment = requireText(input.environment.name, 'environment.name', limits.name);
  const description = requireText(input.environment.description, 'environment.description', limits.remark);
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
        message: `The agent "${agent.name}" received the configuration ${versionText(catalogVersion)}`,
        actor: agent,
        data: { environment, catalog_version: catalogVersion },
      },
    ]);
  });
  const { answer, digest } = describeForAgents(catalog);
  const statement = { kind: 'configuration', agent: agent.id, version: answer.catalog_version, digest };
  return { ...answer, signature: await signForAgents(ctx, statement, await readNow(ctx.db)) };
}
