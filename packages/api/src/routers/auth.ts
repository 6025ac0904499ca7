import {
  AccessError,
  exchangeLoginCode,
  issueSession,
  readSignInMetadata,
  readWhoami,
  receiveLogout,
} from '@belay/core';
import { z } from 'zod';
import { callback, challenge, declaredAuth, label } from '../declared/auth.js';
import { authenticated, publicProcedure } from '../procedures.js';
import { beginSignIn, chooseProvider, completeSignIn, receiveSignIn, signOut } from '../sign-in.js';
import { instant, name, opaque } from '../text.js';
import { router } from '../trpc.js';

const person = { email: z.string(), name: z.string(), groups: z.array(z.string()) };
const session = z.object({ version: z.number().int(), expiry: instant, session: z.string() });
const tags = ['authentication'];

export const authRouter = router({
  page: publicProcedure
    .meta(declaredAuth.page.meta)
    .input(declaredAuth.page.input)
    .output(declaredAuth.page.output)
    .query(({ ctx, input }) => chooseProvider(ctx, input)),
  request: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/auth/request/{provider}', tags, protect: false, summary: 'Begin to sign in' },
      rest: { public: true, html: 'offered', fromAnywhere: true, redirect: { status: 302, always: true } },
    })
    .input(
      z.strictObject({
        provider: name,
        callback,
        label,
        ...challenge,
      }),
    )
    .output(z.object({ url: z.string() }))
    .mutation(({ ctx, input }) => beginSignIn(ctx, input)),
  callback: publicProcedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/auth/callback/{provider}',
        tags,
        protect: false,
        summary: 'Where the provider sends the browser back',
      },
      rest: { public: true, html: 'preferred', fromAnywhere: true, redirect: { status: 302, always: false } },
    })
    // Providers add parameters of their own (`iss`, `session_state`); core reads them from the address.
    .input(
      z.object({
        provider: name,
        code: opaque.optional(),
        state: opaque.optional(),
        error: name.optional(),
      }),
    )
    // Nothing, when it was a session that was asked for: that goes on at its redirect URI.
    .output(z.object({ user: z.object(person), expires_at: instant }).nullable())
    .mutation(({ ctx, input }) => completeSignIn(ctx, input)),
  receive: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/callback/{provider}',
        tags,
        protect: false,
        summary: 'Where a SAML provider has the browser post its answer',
        contentTypes: ['application/x-www-form-urlencoded'],
      },
      rest: { public: true, fromElsewhere: true, redirect: { status: 303, always: true } },
    })
    // Providers may add fields of their own.
    .input(
      z.object({
        provider: name,
        SAMLResponse: z
          .string()
          .regex(/^[A-Za-z0-9+/=\s]+$/)
          .max(200_000)
          .describe('Base64 (SAML 2.0 Bindings, 3.5)'),
        RelayState: opaque.describe('The state that the sign-in was begun with'),
      }),
    )
    .output(z.object({ url: z.string() }))
    .mutation(({ ctx, input }) => receiveSignIn(ctx, input)),
  backchannelLogout: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/backchannel-logout/{provider}',
        tags,
        protect: false,
        summary: 'Where an OpenID provider says that a person has signed out there',
        contentTypes: ['application/x-www-form-urlencoded'],
      },
      rest: { public: true, fromElsewhere: true },
    })
    // Providers may add parameters of their own (OpenID Connect Back-Channel Logout 1.0, 2.5).
    .input(z.object({ provider: name, logout_token: z.string().min(1).max(20_000).describe('A signed logout token') }))
    .output(z.object({ message: z.string() }))
    .mutation(({ ctx, input }) => receiveLogout(ctx.core, input)),
  metadata: publicProcedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/auth/metadata/{provider}',
        tags,
        protect: false,
        summary: 'What a SAML provider is told about this service',
      },
      rest: { public: true, document: { field: 'metadata', type: 'application/samlmetadata+xml' } },
    })
    .input(z.strictObject({ provider: name }))
    .output(z.object({ metadata: z.string() }))
    .query(({ ctx, input }) => readSignInMetadata(ctx.core, input)),
  logout: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/auth/logout', tags, protect: false, summary: 'Sign out everywhere' },
      rest: { public: true, html: 'offered', confirm: { when: 'elsewhere', title: 'Sign out' } },
    })
    .output(z.object({ message: z.string() }))
    .mutation(({ ctx }) => signOut(ctx, {})),
  logoutProvider: publicProcedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/auth/logout/{provider}',
        tags,
        protect: false,
        summary: 'Sign out of one provider',
      },
      rest: { public: true, html: 'offered', confirm: { when: 'elsewhere', title: 'Sign out' } },
    })
    .input(z.strictObject({ provider: name }))
    .output(z.object({ message: z.string() }))
    .mutation(({ ctx, input }) => signOut(ctx, input)),
  token: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/token',
        tags,
        protect: false,
        summary: 'Exchange the code of a sign-in for a token',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { public: true },
    })
    .input(z.strictObject({ code: opaque, code_verifier: z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/) }))
    .output(
      z.object({
        token: z.string(),
        expires_at: instant,
        user: z.object({ ...person, provider: z.string() }),
        session,
      }),
    )
    .mutation(({ ctx, input }) => exchangeLoginCode(ctx.core, input)),
  session: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/session/{provider}',
        tags,
        summary: "Read the session of a program's login with a provider, as it is presented in requests",
      },
    })
    .input(z.strictObject({ provider: name }))
    .output(z.object({ session }))
    .mutation(({ ctx, input }) => {
      // A browser's sessions stay where its scripts cannot read them (interface, Session: agents and clients only).
      if (ctx.request.viaCookie) throw new AccessError('forbidden', 'Only programs are given sessions');
      return issueSession(ctx.caller, input);
    }),
  whoami: authenticated
    .meta({ openapi: { method: 'GET', path: '/auth/whoami', tags, summary: 'Say who you are' } })
    .output(z.object({ id: z.string(), ...person, provider: z.string(), expires_at: instant.optional() }))
    .query(({ ctx }) => readWhoami(ctx.caller)),
});
