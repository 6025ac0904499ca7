import { type Authenticated, type AuthorizationRequest, type Connector, Retryable, Terminal } from '@belay/providers';
import { z } from 'zod';

export interface Told {
  subject: string;
  email: string;
  emailVerified?: boolean;
  groups?: string[];
  organizations?: string[];
  tokens?: Partial<Authenticated['tokens']>;
}

/**
 * Returns an identity provider that proves the person whom the test names. It checks the returned values as real providers do, and
 * accepts each refresh token once, like providers that rotate them.
 */
export function createPeopleProvider(type: string, issuer?: string) {
  const asked: AuthorizationRequest[] = [];
  const refreshed: string[] = [];
  const state = {
    person: { subject: 's1', email: 'ada@example.com' } as Told,
    refresh: 'rotates' as 'rotates' | 'refuses' | 'is down',
    /** How often a refresh was requested. */
    attempts: 0,
    reread: 'tells' as 'tells' | 'refuses' | 'is down' | 'is silent',
    /** How often the data of a person was read. */
    reads: 0,
    /** Delays refreshes and reads until it resolves, when a test wants two workers to meet. */
    hold: undefined as Promise<void> | undefined,
  };
  let issued = 0;
  const tell = () => {
    const { subject, email, emailVerified = true, groups = [] } = state.person;
    return { subject, email, emailVerified, name: subject, groups };
  };
  const connector: Connector = {
    type,
    description: `An identity provider called ${type}`,
    capabilities: ['authenticator'],
    config: z.strictObject({ scopes: z.array(z.string()).optional(), session_scopes: z.array(z.string()).optional() }),
    create: () => ({
      authenticator: {
        ...(issuer === undefined ? {} : { issuer }),
        async authorizationUrl(request) {
          asked.push(request);
          return new URL(`https://${type}.example.com/authorize?state=${request.state}`);
        },
        async exchange(url, expected) {
          const request = asked.find(({ state: one }) => one === expected.state);
          const same =
            request &&
            request.nonce === expected.nonce &&
            request.codeVerifier === expected.codeVerifier &&
            request.redirectUri === expected.redirectUri;
          if (!same || url.searchParams.get('code') !== 'good') throw new Terminal('The code is not ours');
          const { subject, email, emailVerified = true, groups = [], organizations, tokens } = state.person;
          const given = { accessToken: `secret-access-of-${subject}`, ...tokens };
          const belongs = organizations === undefined ? {} : { organizations };
          return { subject, email, emailVerified, name: subject, groups, ...belongs, tokens: given };
        },
        async refresh({ refreshToken, subject }) {
          state.attempts += 1;
          await state.hold;
          if (state.refresh === 'is down') throw new Retryable('Not now');
          if (state.refresh === 'refuses' || refreshed.includes(refreshToken)) throw new Terminal('invalid_grant');
          refreshed.push(refreshToken);
          issued += 1;
          const tokens = {
            accessToken: `secret-access-${issued}-of-${subject}`,
            refreshToken: `secret-refresh-${issued}`,
            expiresInMilliseconds: 60 * 60_000,
          };
          return subject === state.person.subject ? { tokens, person: tell() } : { tokens };
        },
        async reread({ subject }) {
          state.reads += 1;
          await state.hold;
          if (state.reread === 'is down') throw new Retryable('Not now');
          if (state.reread === 'refuses') throw new Terminal('The token is not honoured');
          return state.reread === 'is silent' || subject !== state.person.subject ? null : tell();
        },
        /** A logout token is what it says, as JSON. */
        async readLogout(token, now) {
          return { id: token, ...JSON.parse(token), until: new Date(now.getTime() + 60_000) };
        },
      },
      check: async () => {},
      close: async () => {},
    }),
  };
  return { connector, asked, refreshed, state };
}

export type PeopleProvider = ReturnType<typeof createPeopleProvider>;
