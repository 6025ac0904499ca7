import type { Json } from '../types.js';
import { childrenOf, copyState, type Frame, parseState, type State } from './state.js';

/**
 * Returns a state without its copies of the execution's input, which the host stores once beside the state. Copies are
 * in the state itself, in a context that is still the input, and in every task that received the input unchanged.
 * `restoreState` puts them back.
 */
export function storeState(state: State): unknown {
  const { input } = state;
  const stored: Partial<State> = copyState(state);
  // Task data is shared and never changed in place, so a copy of the input is the same object.
  for (const frame of framesOf(stored.root?.current)) if (frame.input === input) leaveOut(frame, 'input');
  leaveOut(stored, 'input');
  if (state.context === input) leaveOut(stored, 'context');
  return stored;
}

/**
 * Reads the result of `storeState`, or a whole state of an older version. Throws a `TypeError` as `parseState` does.
 */
export function restoreState(stored: unknown, input: Json): State {
  if (!isRecord(stored)) return parseState(stored);
  return parseState({ context: input, ...stored, input, root: withInput(stored.root, input) });
}

function* framesOf(frame: Frame | null | undefined): Generator<Frame> {
  if (!frame) return;
  yield frame;
  for (const child of childrenOf(frame)) yield* framesOf(child);
}

function leaveOut<T extends object>(from: T, key: keyof T): void {
  delete from[key];
}

/** The properties in which a state nests; a task is recognised by its `task`. Task data is not searched. */
const nesting = ['current', 'body', 'list', 'frame', 'branches'];

function withInput(value: unknown, input: Json): unknown {
  if (Array.isArray(value)) return value.map((item) => withInput(item, input));
  if (!isRecord(value)) return value;
  const inner = nesting.filter((key) => Object.hasOwn(value, key)).map((key) => [key, withInput(value[key], input)]);
  const isTask = typeof value.task === 'string' && !Object.hasOwn(value, 'input');
  return { ...value, ...Object.fromEntries(inner), ...(isTask ? { input } : {}) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
