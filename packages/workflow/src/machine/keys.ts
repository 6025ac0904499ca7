import { pointerSegment } from '../json.js';
import type { StepKey } from '../types.js';

// A frame's key is `<pointer>#<path>`: where its task stands, then how it was reached, one number for each list around
// it (how often that list jumped back) and for each iteration or attempt. A step's key is its frame's, and for the
// timers beside a task `:timeout`, `:retry.1` and so on. Only the pointer can contain other `#`, so the last one counts.

/** The part of a key before `#`: a JSON pointer, except inside a function, where it starts at the call. */
export function pointerOf(key: StepKey): string {
  return key.slice(0, key.lastIndexOf('#'));
}

/** The part of a key after `#`, without what names a timer. */
export function pathOf(key: StepKey): string {
  const path = key.slice(key.lastIndexOf('#') + 1);
  const colon = path.indexOf(':');
  return colon === -1 ? path : path.slice(0, colon);
}

/** The key of the frame that a step belongs to. */
export function ownerOf(key: StepKey): string {
  return `${pointerOf(key)}#${pathOf(key)}`;
}

/** The pointer of the task at an index of a list. */
export function taskPointer(list: string, index: number, name: string): string {
  return `${list}/${index}/${pointerSegment(name)}`;
}
