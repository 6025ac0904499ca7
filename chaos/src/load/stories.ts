import { setTimeout as wait } from 'node:timers/promises';
import type { AccessRequest, History } from '../history.js';
import type { Random } from '../seed.js';
import type { Approver } from './approver.js';
import { bear } from './client.js';
import type { Person } from './person.js';

/** How long a request is followed at most: longer than any bound. */
const patience = 120_000;

interface Cast {
  person: Person;
  approver: Approver;
  random: Random;
}

type Story = (cast: Cast) => Promise<void>;

/** What people do, with weights. Each story makes one request and follows it to its end. */
const stories: [weight: number, story: Story][] = [
  [6, keepToTheEnd],
  [3, returnEarly],
  [2, cancelWhileActive],
  [3, beApproved],
  [2, beDenied],
  [1, cancelBeforeDecision],
  [2, signalToGoAhead],
];

/** Plays one story after the other until `signal` aborts; the story in progress is then played to its end. */
export async function liveThrough(cast: Cast, history: History, signal: AbortSignal): Promise<void> {
  const weighted = stories.flatMap(([weight, story]) => Array.from({ length: weight }, () => story));
  while (!signal.aborted) {
    await bear(cast.random.pick(weighted)(cast), history);
    await wait(cast.random.between(100, 500));
  }
}

async function keepToTheEnd({ person, random }: Cast): Promise<void> {
  const request = await person.request(random.pick(['one', 'two', 'both']), random.between(1, 5));
  if (random.next() < 0.1) await person.repeat(request);
  await person.read(request, 'active');
  await person.follow(request, patience);
}

async function returnEarly({ person, random }: Cast): Promise<void> {
  const request = await person.request(random.pick(['one', 'two', 'both']), random.between(5, 8));
  if (await becomesActive(person, request)) {
    await wait(random.between(0, 2_000));
    await person.giveBack(request);
  }
  await person.follow(request, patience);
}

async function cancelWhileActive({ person, random }: Cast): Promise<void> {
  const role = random.pick(['one', 'two', 'both']);
  const request = await person.request(role, random.between(5, 8), ['cancelled', 'completed']);
  // Sometimes in the middle of the grant.
  if (random.next() < 0.5) await person.read(request, 'active');
  else await wait(random.between(0, 100));
  await person.cancel(request);
  await person.follow(request, patience);
}

async function beApproved({ person, approver, random }: Cast): Promise<void> {
  const request = await person.request(random.pick(['askedone', 'askedtwo']), random.between(1, 4));
  if (await reachesApproval(person, request)) await approver.decide(request, 'approve');
  await person.read(request, 'active');
  await person.follow(request, patience);
}

async function beDenied({ person, approver, random }: Cast): Promise<void> {
  const request = await person.request(random.pick(['askedone', 'askedtwo']), 3);
  if (await reachesApproval(person, request)) await approver.decide(request, 'deny');
  await person.follow(request, patience);
}

async function cancelBeforeDecision({ person, random }: Cast): Promise<void> {
  const request = await person.request(random.pick(['askedone', 'askedtwo']), 3, ['cancelled']);
  await wait(random.between(0, 500));
  await person.cancel(request);
  await person.follow(request, patience);
}

async function signalToGoAhead({ person, random }: Cast): Promise<void> {
  const request = await person.request('signalled', random.between(1, 4));
  await wait(random.between(0, 500));
  await person.signal(request);
  await person.read(request, 'active');
  await person.follow(request, patience);
}

/** Returns whether the access became active; false when the request ended before. */
async function becomesActive(person: Person, request: AccessRequest): Promise<boolean> {
  return comesTo(person, request, 'active', ['running', 'granting', 'waiting_for_approval'], 'active');
}

async function reachesApproval(person: Person, request: AccessRequest): Promise<boolean> {
  return comesTo(person, request, 'approval', ['running'], 'waiting_for_approval');
}

async function comesTo(
  person: Person,
  request: AccessRequest,
  until: 'active' | 'approval',
  before: readonly string[],
  state: string,
): Promise<boolean> {
  const deadline = Date.now() + patience;
  let found = await person.read(request, until);
  while (before.includes(found) && Date.now() < deadline) found = await person.read(request, until);
  return found === state;
}
