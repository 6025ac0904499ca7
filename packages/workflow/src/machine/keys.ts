import { pointerSegment } from '../json.js';
import type { StepKey } from '../types.js';

// A frame's key is `<pointer>#<path>`: the place of its task, then how it was reached, with one number for each
// enclosing list (how often that list jumped back) and for each iteration or attempt. A step's key is its frame's key,
// with `:timeout`, `:retry.1` and so on for the timers of a task. Only the pointer can contain another `#`, so the last
// one counts.

/** Returns the part of a key before `#`: a JSON pointer, except inside a function, where it starts at the call. */
export function pointerOf(key: StepKey): string {
  return key.slice(0, key.lastIndexOf('#'));
}

/** Returns the part of a key after `#`, without the name of a timer. */
export function pathOf(key: StepKey): string {
  const path = key.slice(key.lastIndexOf('#') + 1);
  const colon = path.indexOf(':');
  return colon === -1 ? path : path.slice(0, colon);
}

/** Returns the key of the frame that a step belongs to. */
export function ownerOf(key: StepKey): string {
  return `${pointerOf(key)}#${pathOf(key)}`;
}

/** Returns the pointer of the task at an index of a list. */
export function taskPointer(list: string, index: number, name: string): string {
  return `${list}/${index}/${pointerSegment(name)}`;
}
