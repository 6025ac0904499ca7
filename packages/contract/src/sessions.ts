import { z } from 'zod';
import { instant, message, name, opaque } from './fields.js';
import { mutation, query } from './operation.js';

/** A person as a provider describes them. */
export const person = z.object({ email: z.string(), name: z.string(), groups: z.array(z.string()) });
export const providerPerson = person.extend({ provider: z.string() });

export const sessionSummary = z.object({ version: z.number().int(), expiry: instant });

export const session = sessionSummary.extend({ session: z.string() });
/**
 * A session with a provider as programs hold it: `session` is encrypted and good until `expiry`, in this `version`
 * only.
 */
export type Session = z.infer<typeof session>;

export const issuedSession = z.object({ session });
export type IssuedSession = z.infer<typeof issuedSession>;

export const verifiedSession = z.object({ provider: z.string(), ...sessionSummary.shape, user: providerPerson });
/** What a session token proves. */
export type VerifiedSession = z.infer<typeof verifiedSession>;

export const sessionList = z.object({
  version: z.string(),
  timestamp: instant,
  sessions: z.record(z.string(), sessionSummary).describe('By provider'),
});
export type SessionList = z.infer<typeof sessionList>;

export const localLogin = z.object({
  url: z.string().describe('URL at the server at which the sign-in continues'),
  code: z.string().describe('Proves to POST /sessions that the sign-in started here; can be used once'),
  expires_in: z.number().int().describe('Seconds'),
});
/** A sign-in that agent mode or client mode has started on this machine. */
export type LocalLogin = z.infer<typeof localLogin>;

export const sessionToKeep = z.strictObject({ code: opaque, provider: name, session: opaque });
/** A session for agent mode or client mode to store on this machine. */
export type SessionToKeep = z.input<typeof sessionToKeep>;

export const sessionOperations = {
  list: query({ output: sessionList }),
  verify: mutation({ input: z.strictObject({ session: opaque }), output: verifiedSession }),
};

/** The session operations of agent mode and client mode. Of these a server has only `list`, which returns no tokens. */
export const localSessionOperations = {
  list: query({ output: sessionList.extend({ sessions: z.record(z.string(), session) }) }),
  begin: mutation({ input: z.strictObject({ provider: name.optional() }), output: localLogin }),
  get: query({ input: z.strictObject({ provider: name }), output: issuedSession }),
  keep: mutation({ input: sessionToKeep, output: message.extend({ expiry: instant }) }),
  remove: mutation({ input: z.strictObject({ provider: name }), output: message }),
};
