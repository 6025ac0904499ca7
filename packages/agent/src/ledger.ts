import type { LocalLedger, LocalLogEntry } from './verbs/ports.js';

/** The interface's limit (GET /logs). */
const most = 500;

/** Returns what happened on this machine, in memory: the newest 500 entries (docs/architecture.md, section 3). */
export function createLocalLedger(clock: () => Date): LocalLedger {
  const ring: LocalLogEntry[] = [];
  return {
    append({ level = 'info', type, message, provider = '', user = '' }) {
      ring.push({
        timestamp: clock().toISOString(),
        level,
        message,
        provider,
        user,
        owner: user,
        workflow_id: '',
        type,
      });
      if (ring.length > most) ring.shift();
    },
    entries: () => [...ring].reverse(),
  };
}
