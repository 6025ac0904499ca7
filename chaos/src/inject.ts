import { setTimeout as wait } from 'node:timers/promises';
import type { Actors, Fault } from './faults/fault.js';
import type { FaultWindow, History } from './history.js';
import { bear } from './load/client.js';
import { targets } from './stage/names.js';

/** Longer than the bound. A part that has not recovered by then is recorded as never recovered. */
const longestRecovery = 15_000;

/** Prepares, injects and heals one fault, waits until everything that it may affect works again, and records it. */
export async function injectFault(fault: Fault, actors: Actors, history: History, stretch: number): Promise<void> {
  await bear(fault.prepare?.(actors, stretch) ?? Promise.resolve(), history);
  const window = open(fault.name, fault, history);
  const left = await bear(fault.run(actors, stretch), history);
  // `after` is awaited below. If it rejects before that, the program must not end.
  left?.after.catch(() => {});
  window.healed = fault.momentary ? window.from : Date.now();
  await untilRecovered(window, actors, history);
  await bear(left?.after ?? Promise.resolve(), history);
  if (fault.resumes === undefined) return;
  const second = open(fault.resumes, { scope: fault.scope }, history);
  second.healed = second.from;
  await untilRecovered(second, actors, history);
}

function open(name: string, fault: Pick<Fault, 'scope' | 'lease' | 'database'>, history: History): FaultWindow {
  const { scope, lease = false, database = false } = fault;
  const window = {
    name,
    scope,
    from: Date.now(),
    healed: Number.POSITIVE_INFINITY,
    lease,
    database,
    recovered: {},
  };
  history.faults.push(window);
  return window;
}

/** Waits for the next answer of each server and the next grant at each target, and records how long after the healing they came. */
async function untilRecovered(window: FaultWindow, actors: Actors, history: History): Promise<void> {
  const { scope, healed, recovered } = window;
  const servers = scope === 'everything' ? actors.stage.servers.map(({ name }) => name) : [];
  const systems = scope === 'nothing' ? [] : typeof scope === 'string' ? targets : [scope.target];
  for (const name of [...servers, ...systems]) recovered[name] = null;
  const deadline = Date.now() + longestRecovery;
  while (Date.now() < deadline && Object.values(recovered).includes(null)) {
    for (const name of servers) recovered[name] ??= firstAnswer(history, name, healed);
    for (const name of systems) recovered[name] ??= firstGrant(history, name, healed);
    await wait(100);
  }
}

function firstAnswer({ attempts }: History, server: string, healed: number): number | null {
  for (const each of attempts.slice(-2_000)) {
    if (each.server !== server || each.operation === 'ready' || typeof each.outcome !== 'number') continue;
    if (each.at >= healed && each.outcome < 500) return each.at + each.took - healed;
  }
  return null;
}

function firstGrant({ held }: History, target: string, healed: number): number | null {
  const starts = Object.entries(held)
    .filter(([holding]) => holding.split(' ')[1]?.startsWith(`${target}/`))
    .flatMap(([, intervals]) => intervals.map(({ from }) => from).filter((from) => from >= healed));
  return starts.length === 0 ? null : Math.min(...starts) - healed;
}
