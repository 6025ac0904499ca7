import { randomUUID } from 'node:crypto';

/** Returns a UUID of version 7, made here so that an older Belay is measured with the same. */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
