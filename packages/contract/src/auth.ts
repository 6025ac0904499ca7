import { z } from 'zod';
import { instant, message, name, opaque, verdict } from './fields.js';
import { limits } from './limits.js';
import { mutation, query } from './operation.js';
import { issuedSession, localLogin, person, providerPerson, session } from './sessions.js';

const callback = opaque.optional().describe('Where to go afterwards; must be on the allow-list');
const label = name.optional().describe('The program that signs in, as it is shown to the person');
const challenge = {
  code_challenge: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/)
    .optional()
    .describe('S256 challenge of a program that will exchange a code (RFC 7636)'),
  code_challenge_method: z.literal('S256').optional(),
};

export const signInProvider = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  url: z.string().describe('Where a browser begins to sign in, relative to the server'),
});
/** A provider that people can sign in with. */
export type SignInProvider = z.infer<typeof signInProvider>;

export const signInProviders = z.object({ providers: z.array(signInProvider) });
export type SignInProviders = z.infer<typeof signInProviders>;

const page = z.strictObject({ callback, provider: name.optional(), label, ...challenge });

export const codeExchange = z.strictObject({
  code: opaque.describe('The authorization code in the callback URL'),
  code_verifier: z
    .string()
    .regex(/^[A-Za-z0-9._~-]{43,128}$/)
    .describe('The PKCE verifier whose S256 challenge the sign-in began with'),
});
export type CodeExchange = z.input<typeof codeExchange>;

export const exchangedToken = z.object({
  token: z.string(),
  expires_at: instant,
  user: providerPerson,
  session: session.describe('The session with the provider, to be sent in requests'),
});
export type ExchangedToken = z.infer<typeof exchangedToken>;

export const whoami = z.object({
  id: z.string(),
  ...providerPerson.shape,
  expires_at: instant.optional(),
  oversight: z
    .enum(['administrator', 'auditor'])
    .optional()
    .describe('What the person oversees by `access` of the configuration; absent for everyone else'),
});
export type Whoami = z.infer<typeof whoami>;

export type LoggedOut = z.infer<typeof message>;

const provider = z.strictObject({ provider: name });

export const authOperations = {
  page: query({ input: page, output: signInProviders }),
  request: mutation({ input: page.extend({ provider: name }), output: z.object({ url: z.string() }) }),
  callback: mutation({
    // Providers add parameters of their own (`iss`, `session_state`); the verb reads them from the address.
    input: z.object({
      provider: name,
      code: opaque.optional(),
      state: opaque.optional(),
      error: name.optional(),
    }),
    // Null when the person requested a session: the browser is redirected to the redirect URI of the session.
    output: z.object({ user: person, expires_at: instant }).nullable(),
  }),
  receive: mutation({
    // Providers may add fields of their own.
    input: z.object({
      provider: name,
      SAMLResponse: z
        .string()
        .regex(/^[A-Za-z0-9+/=\s]+$/)
        .max(limits.samlResponse)
        .describe('Base64 (SAML 2.0 Bindings, 3.5)'),
      RelayState: opaque.describe('The state with which the sign-in started'),
    }),
    output: z.object({ url: z.string() }),
  }),
  backchannelLogout: mutation({
    // Providers may add parameters of their own (OpenID Connect Back-Channel Logout 1.0, 2.5).
    input: z.object({
      provider: name,
      logout_token: z.string().min(1).max(limits.logoutToken).describe('A signed logout token'),
    }),
    output: message,
  }),
  metadata: query({ input: provider, output: z.object({ metadata: z.string() }) }),
  logout: mutation({ output: message }),
  logoutProvider: mutation({ input: provider, output: message }),
  token: mutation({ input: codeExchange, output: exchangedToken }),
  session: mutation({ input: provider, output: issuedSession }),
  whoami: query({ output: whoami }),
};

/** The sign-in operations of agent mode. */
export const localAuthOperations = {
  page: query({
    input: page.omit({ code_challenge: true, code_challenge_method: true }),
    output: signInProviders.extend(localLogin.shape),
  }),
};

const userCode = z.string().max(limits.userCode).describe('The short code, in any case and with or without separators');

export const startedDeviceLogin = z.object({
  device_code: z.string().describe("The program's secret code"),
  user_code: z.string().describe('The code that the person types at `verification_uri`'),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.number().int().describe('Seconds'),
  interval: z.number().int().describe('Seconds to wait between two polls'),
});
/** Both codes of a login on a machine without a browser (RFC 8628). */
export type StartedDeviceLogin = z.infer<typeof startedDeviceLogin>;

export const polledDeviceLogin = z.discriminatedUnion('status', [
  z.object({ status: z.enum(['pending', 'slow_down']), interval: z.number().int().describe('Seconds') }),
  z.object({
    status: z.literal('complete'),
    token: z.string(),
    expires_at: instant,
    user: providerPerson,
    session: session.nullable(),
  }),
]);
export type PolledDeviceLogin = z.infer<typeof polledDeviceLogin>;

export const shownDeviceLogin = z.object({
  user_code: z.string(),
  label: z.string(),
  asked_at: instant,
  expires_at: instant,
});
/** A machine that waits for a person to confirm its code. */
export type ShownDeviceLogin = z.infer<typeof shownDeviceLogin>;

/** Sign-in on a machine without a browser (RFC 8628). */
export const deviceOperations = {
  start: mutation({
    input: z.strictObject({
      label: name
        .default('a machine without a browser')
        .describe('The program that signs in, as it is shown to the person'),
    }),
    output: startedDeviceLogin,
  }),
  page: query({
    input: z.strictObject({ user_code: userCode.optional() }),
    output: z.object({ request: shownDeviceLogin.nullable() }),
  }),
  decide: mutation({ input: z.strictObject({ user_code: userCode, verdict }), output: message }),
  token: mutation({ input: z.strictObject({ device_code: opaque }), output: polledDeviceLogin }),
};

export const shownProgramLogin = z.object({
  request: z.string(),
  label: z.string().nullable().describe('What the program calls itself; not checked'),
  callback: z.string().describe('Where the code will be sent'),
  place: z.enum(['loopback', 'own', 'listed']),
  asked_at: instant,
  expires_at: instant,
});
/** A program that waits for a person to let it sign in as them. */
export type ShownProgramLogin = z.infer<typeof shownProgramLogin>;

/** The confirmation that a program's sign-in requires before it gets its code (RFC 8252, section 8.6). */
export const programOperations = {
  page: query({ input: z.strictObject({ request: opaque }), output: shownProgramLogin }),
  decide: mutation({ input: z.strictObject({ request: opaque, verdict }), output: z.object({ location: z.string() }) }),
};
