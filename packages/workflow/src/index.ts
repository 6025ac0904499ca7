import type { State } from './machine/state.js';
import type { CallCheck, CloudEvent, Env, Evaluate, Fault, Issue, Json, LifecycleEvent, Outcome, Status, Step, StepKey } from './types.js';

export type { State } from './machine/state.js';
export type {
  CallCheck,
  CloudEvent,
  Env,
  Evaluate,
  Fault,
  Issue,
  Json,
  LifecycleEvent,
  Outcome,
  Status,
  Step,
  StepKey,
} from './types.js';

export interface Workflow {
  document: { dsl: string; namespace: string; name: string; version: string; title?: string; summary?: string };
  [part: string]: unknown;
}

export interface Transition {
  status: Status;
  state: State;
  open: Step[];
  close: StepKey[];
  events: LifecycleEvent[];
  emitted: CloudEvent[];
  output?: Json;
  fault?: Fault;
}

export type ParseResult = { ok: true; workflow: Workflow } | { ok: false; issues: Issue[] };

/** The type of the fault that `interrupt` raises. */
export const CANCELLED = 'https://belay.dev/errors/cancelled';

export class ExpressionError extends Error {
  override name = 'ExpressionError';
}

const later = (): never => {
  throw new Error('not built yet');
};

export function parseWorkflow(_source: unknown, _options: { functions: { [name: string]: CallCheck } }): ParseResult {
  return later();
}
export function loadWorkflow(_json: unknown): Workflow {
  return later();
}
export async function begin(_workflow: Workflow, _input: Json, _env: Env): Promise<Transition> {
  return later();
}
export async function resolve(_workflow: Workflow, _state: State, _key: StepKey, _outcome: Outcome, _env: Env): Promise<Transition> {
  return later();
}
export async function deliver(_workflow: Workflow, _state: State, _event: CloudEvent, _env: Env): Promise<Transition | null> {
  return later();
}
export async function interrupt(_workflow: Workflow, _state: State, _env: Env): Promise<Transition> {
  return later();
}
export function parseState(_value: unknown): State {
  return later();
}
export function validateInput(_workflow: Workflow, _input: Json): Issue[] {
  return later();
}
export function parseDuration(_text: string): number {
  return later();
}
export function formatDuration(_milliseconds: number): string {
  return later();
}
export function createExpressionPool(_options?: { size?: number; timeoutMilliseconds?: number }): {
  evaluate: Evaluate;
  close(): Promise<void>;
} {
  return later();
}
