import type { AgentReport, AgentReported } from '@belay/contract/configuration';
import { limits } from '@belay/contract/limits';
import { programVersion } from '@belay/contract/system';
import { requireAgent } from '../actor.js';
import { versionText } from '../configuration/compile.js';
import type { ActorStore } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { requireText } from '../text.js';

/** Records the report of an agent before it registers (`preflight`) or after its setup (`postflight`). */
export async function reportAgent(
  ctx: ActorStore,
  phase: 'preflight' | 'postflight',
  input: AgentReport,
): Promise<AgentReported> {
  const agent = requireAgent(ctx);
  const checks = (input.checks ?? []).map(({ name, ok, message }, index) => ({
    name: requireText(name, `checks.${index}.name`, limits.name),
    ok,
    ...(message === undefined ? {} : { message: requireText(message, `checks.${index}.message`, limits.remark) }),
  }));
  const { environment, version, catalog_version: told } = input;
  const failed = checks.filter(({ ok }) => !ok).length;
  const inForce = versionText(ctx.catalog.current().version);
  await appendLedger(ctx.db, [
    {
      type: `agent.${phase}`,
      level: failed === 0 ? 'info' : 'warning',
      message: `The agent "${agent.name}" reported its ${phase} checks: ${failed === 0 ? 'all passed' : `${failed} failed`}`,
      actor: agent,
      data: {
        ...(environment ? { environment } : {}),
        ...(version === undefined ? {} : { version: requireText(version, 'version', limits.name) }),
        ...(told === undefined ? {} : { catalog_version: requireText(told, 'catalog_version', limits.name) }),
        checks,
      },
    },
  ]);
  return {
    success: failed === 0,
    version: programVersion(ctx),
    timestamp: (await readNow(ctx.db)).toISOString(),
    catalog_version: inForce,
    current: told === inForce,
  };
}
