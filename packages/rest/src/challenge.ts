import type { TRPCError } from '@trpc/server';

/** A 401 says how to authenticate (RFC 9110, section 15.5.2), whichever way it is sent. */
export function challengeOf(errors: readonly TRPCError[], challenge: string): Record<string, string> {
  return errors.some(({ code }) => code === 'UNAUTHORIZED') ? { 'WWW-Authenticate': challenge } : {};
}
