import { AccessError, invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { AgentLogEntry } from '@belay/contract/logs';
import { requireAgent } from '../actor.js';
import type { ActorStore } from '../context.js';
import { requireText } from '../text.js';
import { appendLedger } from './append.js';

const most = limits.logEntries;

/**
 * Stores log entries of an agent (POST /logs). Each is stored as a statement of the agent: under the one type
 * `agent.log`, at the server's time, about no person. Its own type, provider, workflow and time are in the entry's data,
 * so that it cannot be confused with an entry of the server or about a person. Stores all or none, and returns how
 * many. Throws `invalid`, and the errors of `requireAgent`.
 */
export async function recordLogs(ctx: ActorStore, input: { entries: AgentLogEntry[] }): Promise<{ accepted: number }> {
  const agent = requireAgent(ctx);
  const { entries } = input;
  if (entries.length === 0) throw new AccessError('invalid', 'must have at least one entry');
  if (entries.length > most) throw invalid('entries', `must have at most ${most} entries`);
  const rows = entries.map((entry, index) => {
    const at = `entries[${index}]`;
    const message = requireText(entry.message, `${at}.message`, limits.remark);
    if (Number.isNaN(Date.parse(entry.timestamp))) throw invalid(`${at}.timestamp`, 'is not a time');
    const optional = (name: 'type' | 'provider' | 'workflow_id') => {
      const text = entry[name];
      return text === undefined ? {} : { [name]: requireText(text, `${at}.${name}`, limits.name) };
    };
    return {
      type: 'agent.log' as const,
      level: entry.level,
      message: `[${agent.name}] ${message}`,
      actor: agent,
      data: {
        reported_at: entry.timestamp,
        ...optional('type'),
        ...optional('provider'),
        ...optional('workflow_id'),
      },
    };
  });
  await appendLedger(ctx.db, rows);
  return { accepted: rows.length };
}
