import { AccessError } from '@belay/contract/errors';
import { TRPCError } from '@trpc/server';

/** More levels than people write, and far fewer than a stack can hold. */
const deepest = 100;

/** Rejects JSON that is nested so deeply that a recursive function would overflow the stack. Throws `invalid`. */
export function refuseDeep(input: unknown): void {
  let level: unknown[] = [input];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) {
      const message = `The request is nested more than ${deepest} levels deep`;
      throw new TRPCError({ code: 'BAD_REQUEST', message, cause: new AccessError('invalid', message) });
    }
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
}
