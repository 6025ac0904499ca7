import { authOperations } from '@belay/contract/auth';
import { AccessError } from '@belay/contract/errors';
import { metadata } from '@belay/contract/metadata';
import { exchangeLoginCode, issueSession, readSignInMetadata, readWhoami, receiveLogout } from '@belay/core';
import { authenticated, publicProcedure } from '../procedures.js';
import { beginSignIn, chooseProvider, completeSignIn, receiveSignIn, signOut } from '../sign-in.js';
import { router } from '../trpc.js';

const tags = ['authentication'];

export const authRouter = router({
  page: publicProcedure
    .meta(metadata.auth.page)
    .input(authOperations.page.input)
    .output(authOperations.page.output)
    .query(({ ctx, input }) => chooseProvider(ctx, input)),
  request: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/auth/request/{provider}', tags, protect: false, summary: 'Start a sign-in' },
      rest: { public: true, html: 'offered', fromAnywhere: true, redirect: { status: 302, always: true } },
    })
    .input(authOperations.request.input)
    .output(authOperations.request.output)
    .mutation(({ ctx, input }) => beginSignIn(ctx, input)),
  callback: publicProcedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/auth/callback/{provider}',
        tags,
        protect: false,
        summary: 'Receive the redirect from a provider after a sign-in',
      },
      rest: { public: true, html: 'preferred', fromAnywhere: true, redirect: { status: 302, always: false } },
    })
    // Providers add parameters of their own (`iss`, `session_state`); core reads them from the address.
    .input(authOperations.callback.input)
    // The output is null when the flow opens a session: the browser is redirected to the session's redirect URI.
    .output(authOperations.callback.output)
    .mutation(({ ctx, input }) => completeSignIn(ctx, input)),
  receive: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/callback/{provider}',
        tags,
        protect: false,
        summary: 'Receive the form that a SAML provider posts after a sign-in',
        contentTypes: ['application/x-www-form-urlencoded'],
      },
      rest: { public: true, fromElsewhere: true, redirect: { status: 303, always: true } },
    })
    // Providers may add fields of their own.
    .input(authOperations.receive.input)
    .output(authOperations.receive.output)
    .mutation(({ ctx, input }) => receiveSignIn(ctx, input)),
  backchannelLogout: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/backchannel-logout/{provider}',
        tags,
        protect: false,
        summary: 'Receive a logout token from an OpenID provider',
        contentTypes: ['application/x-www-form-urlencoded'],
      },
      rest: { public: true, fromElsewhere: true },
    })
    // Providers may add parameters of their own (OpenID Connect Back-Channel Logout 1.0, 2.5).
    .input(authOperations.backchannelLogout.input)
    .output(authOperations.backchannelLogout.output)
    .mutation(({ ctx, input }) => receiveLogout(ctx.core, input)),
  metadata: publicProcedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/auth/metadata/{provider}',
        tags,
        protect: false,
        summary: 'Read the SAML metadata of this service for a provider',
      },
      rest: { public: true, document: { field: 'metadata', type: 'application/samlmetadata+xml' } },
    })
    .input(authOperations.metadata.input)
    .output(authOperations.metadata.output)
    .query(({ ctx, input }) => readSignInMetadata(ctx.core, input)),
  logout: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/auth/logout', tags, protect: false, summary: 'Sign out of this login' },
      rest: { public: true, html: 'offered', confirm: { when: 'elsewhere', title: 'Sign out' } },
    })
    .output(authOperations.logout.output)
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
    .input(authOperations.logoutProvider.input)
    .output(authOperations.logoutProvider.output)
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
    .input(authOperations.token.input)
    .output(authOperations.token.output)
    .mutation(({ ctx, input }) => exchangeLoginCode(ctx.core, input)),
  session: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/session/{provider}',
        tags,
        summary: "Read the session of a program's login with a provider, in the form that requests carry it",
      },
    })
    .input(authOperations.session.input)
    .output(authOperations.session.output)
    .mutation(({ ctx, input }) => {
      // A browser's sessions stay out of reach of its scripts (docs/interface.md, section 6, rule 2).
      if (ctx.request.viaCookie) throw new AccessError('forbidden', 'Only programs can read session tokens');
      return issueSession(ctx.caller, input);
    }),
  whoami: authenticated
    .meta({ openapi: { method: 'GET', path: '/auth/whoami', tags, summary: 'Read the current user' } })
    .output(authOperations.whoami.output)
    .query(({ ctx }) => readWhoami(ctx.caller)),
});
