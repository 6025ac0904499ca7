import { setTimeout as wait } from 'node:timers/promises';
import type { Actors, Fault } from './faults/fault.js';
import { listFaults } from './faults/list-faults.js';
import type { History } from './history.js';
import { injectFault } from './inject.js';
import { createApprover } from './load/approver.js';
import { bear, type Client, createClient } from './load/client.js';
import { createPerson, type Person } from './load/person.js';
import { probeReadiness } from './load/probe.js';
import { liveThrough } from './load/stories.js';
import type { Random } from './seed.js';
import { debtors } from './stage/names.js';
import { openStage, type Stage } from './stage/open-stage.js';

const patience = 60_000;
/** How long the target is watched before the first fault, and after the last request has ended, in milliseconds. */
const quiet = { before: 5_000, after: 1_000 };

export interface RunOptions {
  queue: 'redis' | 'postgres';
  /** The length of the run. Undefined: the short form, which has each fault once. */
  minutes: number | undefined;
  people: number;
  /** Only these faults; all of them when it is empty. */
  only: readonly string[];
  random: Random;
  /** Ends the run after the fault that is in progress. */
  signal: AbortSignal;
  say(line: string): void;
}

/** Runs Belay under load while one fault after the other is injected. Returns the history and the folder of the logs. */
export async function runChaos(
  options: RunOptions,
): Promise<{ history: History; folder: string; close(keepLogs: boolean): Promise<void> }> {
  const { random, say } = options;
  const now = Date.now();
  const history: History = {
    startedAt: now,
    endedAt: now,
    clock: [],
    faults: [],
    requests: [],
    attempts: [],
    held: {},
    blind: [],
    deaths: [],
    unanswered: [],
    written: {},
  };
  const names = Array.from({ length: options.people }, (_, index) => `person${index}`);
  const stage = await openStage({ queue: options.queue, people: [...names, ...debtors, 'burden'], history });
  try {
    const cast = await hire(stage, names, history, random);
    say(`${options.people} people, two servers and two workers, queue on ${options.queue}`);
    const samples = stage.target.watch(history);
    const stopping = new AbortController();
    const playing = Promise.all([
      probeReadiness(stage.servers, history, stopping.signal),
      ...cast.people.map(({ person, approver }) =>
        liveThrough({ person, approver, random: random.fork(person.name) }, history, stopping.signal),
      ),
    ]);
    const actors: Actors = {
      stage,
      random: random.fork('faults'),
      debtors: cast.debtors,
      burden: cast.burden,
      wait: async (milliseconds) => void (await wait(milliseconds)),
    };
    history.startedAt = Date.now();
    await wait(quiet.before);
    await Promise.race([injectAll(options, actors, history), stage.hung]);
    stopping.abort();
    await playing;
    await audit([...cast.people.map(({ person }) => person), ...cast.debtors, cast.burden], history);
    await wait(quiet.after);
    history.endedAt = Date.now();
    await samples.stop();
    return { history, folder: stage.folder, close: stage.close };
  } catch (error) {
    say(`The logs of the processes are in ${stage.folder}`);
    await stage.close(true).catch((cause) => say(String(cause)));
    throw error;
  }
}

/** Injects every fault, in an order that the seed determines. Faults that last while others run begin first. */
async function injectAll(
  { queue, minutes, only, random, signal, say }: RunOptions,
  actors: Actors,
  history: History,
): Promise<void> {
  const order = random.fork('order');
  const faults = listFaults(queue, only);
  const end = history.startedAt + (minutes ?? 0) * 60_000;
  const inject = async (fault: Fault) => {
    if (signal.aborted) return;
    say(`${((Date.now() - history.startedAt) / 1_000).toFixed(1).padStart(7)} s  ${fault.name}`);
    await injectFault(fault, actors, history, minutes === undefined ? 1 : 1 + order.next());
  };
  const injectInTurn = async (list: readonly Fault[]) => {
    for (const fault of list) await inject(fault);
  };
  do {
    const shuffled = order.shuffle(faults);
    const ofQueue = shuffled.filter(({ scope }) => scope === 'queue');
    const ofTarget = shuffled.filter(({ scope, workers }) => typeof scope !== 'string' && !workers);
    const others = shuffled.filter((each) => ![...ofQueue, ...ofTarget].includes(each) && !each.resumes);
    const stopped = Promise.all(shuffled.filter(({ resumes }) => resumes).map(inject));
    if (minutes === undefined) {
      // The short form has to be short. Effects of a fault of the queue and of a target can be told apart, so they run together.
      await Promise.all([injectInTurn(ofQueue), injectInTurn(ofTarget)]);
    } else await injectInTurn(order.shuffle([...ofQueue, ...ofTarget]));
    await stopped;
    // Faults of workers first, because they leave leases behind, which expire while the others run.
    await injectInTurn([...others.filter(({ workers }) => workers), ...others.filter(({ workers }) => !workers)]);
  } while (Date.now() < end && !signal.aborted);
}

async function hire(stage: Stage, names: readonly string[], history: History, random: Random) {
  let count = 0;
  const client = async (name: string, group: string): Promise<Client> => {
    count += 1;
    const token = await stage.createToken(name, group);
    const address = `10.0.${count >> 8}.${count & 255}`;
    return createClient({
      servers: stage.servers,
      token,
      address,
      history,
      random: random.fork(`${name} waits`),
      patience,
    });
  };
  const person = async (name: string): Promise<Person> =>
    createPerson(name, await client(name, 'engineers'), history, random.fork(`${name} chooses`));
  const approver = createApprover(await client('approver', 'approvers'), random.fork('approver'));
  const all: Person[] = [];
  // Each token is created by a process of its own; two at a time are enough for two cores.
  const everyone = [...names, ...debtors, 'burden'];
  for (let from = 0; from < everyone.length; from += 2) {
    all.push(...(await Promise.all(everyone.slice(from, from + 2).map(person))));
  }
  const find = (wanted: readonly string[]) => all.filter(({ name }) => wanted.includes(name));
  const [burden] = find(['burden']);
  if (!burden) throw new Error('There is no burden');
  return { people: find(names).map((each) => ({ person: each, approver })), debtors: find(debtors), burden };
}

/** Follows every request to its end, and reads which executions the log names. Ends early when Belay does not respond. */
async function audit(people: readonly Person[], history: History): Promise<void> {
  const read = async (person: Person) => {
    for (const request of history.requests.filter((each) => each.person === person.name)) {
      if (request.ids.length > 0) await person.follow(request, patience);
    }
    history.written[person.name] = await person.readLog();
  };
  await Promise.all(people.map((person) => bear(read(person), history)));
}
