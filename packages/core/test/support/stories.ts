import { type ActorContext, decideApproval, getExecution, requestElevation, type UserActor } from '@belay/core';
import { takeTurn } from '@belay/engine';
import {
  approvalCatalog,
  approvalTasks,
  createHouse,
  type House,
  type HouseOptions,
  workflowOf,
} from '@belay/testkit/house';

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** The access that the role `reader` of the tests' catalogs gives. */
export const access = { role: 'read' };

export type Person = ActorContext & { actor: UserActor };

export interface Cast extends AsyncDisposable {
  house: House;
  /** The requester. */
  ada: Person;
  /** An approver; alan is another one. */
  grace: Person;
  alan: Person;
  /** Has no group, and can request nothing. */
  mallory: Person;
}

/** Returns a house with the people that every story has. */
export async function openCast(options: HouseOptions = {}): Promise<Cast> {
  const house = await createHouse(options);
  const ada = await house.person('ada', ['engineers']);
  const grace = await house.person('grace', ['approvers']);
  const alan = await house.person('alan', ['approvers', 'engineers']);
  const mallory = await house.person('mallory');
  return { house, ada, grace, alan, mallory, [Symbol.asyncDispose]: () => house[Symbol.asyncDispose]() };
}

/** Returns the usual catalog with more workflows; the role can be requested through each of them. */
export function catalogWith(workflows: Record<string, unknown[]>, role: object = {}): object {
  const catalog = approvalCatalog({
    role: { workflows: ['approved', 'automatic', ...Object.keys(workflows)], ...role },
  }) as {
    workflows: object;
  };
  const more = Object.entries(workflows).map(([name, tasks]) => [
    name,
    { description: name, workflow: workflowOf(name, tasks) },
  ]);
  return { ...catalog, workflows: { ...catalog.workflows, ...Object.fromEntries(more) } };
}

/** Returns a catalog whose workflow `approved` has one stage. */
export function staged(stage: object, role: object = {}): object {
  return approvalCatalog({ tasks: approvalTasks(stage), role });
}

export interface Asked {
  workflow?: string;
  duration?: string;
  identities?: string[];
  role?: string;
  idempotencyKey?: string;
}

/** Makes a request and returns its id; does none of the work that follows. */
export async function request(person: Person, asked: Asked = {}): Promise<string> {
  const { output } = await requestElevation(person, {
    role: 'reader',
    reason: 'a ticket',
    duration: 'PT30M',
    workflow: 'approved',
    ...asked,
  });
  return output.execution_id;
}

/** Takes the first turn of an execution, and does none of the work that follows. */
export async function beginOnly(house: House, executionId: string): Promise<void> {
  await takeTurn(house.ctx, executionId);
}

/** Makes a request, works until it waits, and returns its id. */
export async function ask(house: House, person: Person, asked: Asked = {}): Promise<string> {
  const id = await request(person, asked);
  await house.work();
  return id;
}

export const approve = (person: ActorContext, id: string) =>
  decideApproval(person, { id, verdict: 'approve', via: 'api' });
export const deny = (person: ActorContext, id: string) => decideApproval(person, { id, verdict: 'deny', via: 'api' });

export const statusOf = async (person: ActorContext, id: string) => (await getExecution(person, { id })).status;

/** Returns the results of concurrent calls: `ok`, or the code of the rejection. */
export async function together(work: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((one) =>
    one.status === 'fulfilled' ? 'ok' : String((one.reason as { code?: unknown }).code ?? one.reason),
  );
}

/** Lets everything run out: grants, quarantines, approvals. */
export async function runOut(house: House): Promise<void> {
  for (let step = 0; step < 4; step += 1) await house.pass(12 * hour);
}
