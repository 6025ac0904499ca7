import type { AccessRequest } from '../history.js';
import { debts } from '../stage/names.js';
import type { Actors, Fault } from './fault.js';
import { inLines } from './in-lines.js';

/** Longer than a hundred grants take on a slow machine. */
const patience = 60_000;

/** Returns a fault in which a target stops responding, and a hundred grants there are given back meanwhile. */
export function createSilentTarget(): Fault {
  let owed: { holder: Actors['debtors'][number]; request: AccessRequest }[] = [];
  return {
    name: 'target-silent',
    does: 'one of two targets swallows everything while a hundred revocations are owed there',
    scope: { target: 'one' },
    async prepare({ debtors, wait }) {
      owed = [];
      for (const holder of debtors) {
        // As many at a time as one person's programs might send.
        for (let from = 0; from < debts.length; from += 5) {
          const requests = debts.slice(from, from + 5).map((role) => holder.request(role, 3_600));
          owed.push(...(await Promise.all(requests)).map((request) => ({ holder, request })));
        }
      }
      await untilActive(debtors, owed, wait);
    },
    async run({ stage, wait }, stretch) {
      const proxy = stage.proxies.targets.one;
      proxy.swallow(true);
      try {
        await inLines(owed, 10, ({ holder, request }) => holder.giveBack(request));
        await wait(4_000 * stretch);
      } finally {
        proxy.swallow(false);
      }
      return { after: inLines(owed, 25, ({ holder, request }) => holder.follow(request, patience)) };
    },
  };
}

async function untilActive(
  debtors: Actors['debtors'],
  owed: readonly { request: AccessRequest }[],
  wait: Actors['wait'],
): Promise<void> {
  const deadline = Date.now() + patience;
  while (Date.now() < deadline) {
    const states = new Map<string, string>();
    for (const debtor of debtors) for (const [id, state] of await debtor.listAccess()) states.set(id, state);
    let active = 0;
    for (const { request } of owed) {
      if (states.get(request.ids[0] ?? '') !== 'active') continue;
      request.activeAt ??= Date.now();
      active += 1;
    }
    if (active === owed.length) return;
    await wait(250);
  }
}
