import { Retryable, Terminal } from '../errors.js';
import type { Authenticator, AuthorizationRequest } from '../port.js';
import type { TestRunner } from './hostile-holder.js';

/** One connector with an authenticator, whose provider is available. */
export interface AuthenticatorSubject {
  authenticator: Authenticator;
  /** An authenticator of the same type whose provider is unavailable; absent when the provider is not called (SAML). */
  down?: Authenticator;
  redirectUri: string;
  /** Texts that must never be in an address that a browser sees. */
  secrets: string[];
  /** What a response is bound to besides the state, by the protocol or the provider. */
  binds: ('nonce' | 'codeVerifier')[];
  /** Signs the same person in at `url` each time. Returns the callback URL with the provider's response in its query. */
  answer(url: URL): Promise<URL>;
  close(): Promise<void>;
}

/** Declares the guarantees that every authenticator gives (docs/architecture.md, section 9). */
export function authenticatorConformance(
  runner: TestRunner,
  name: string,
  open: () => Promise<AuthenticatorSubject>,
): void {
  const { describe, it, expect, beforeAll, afterAll } = runner;

  describe(`${name} keeps an authenticator's promises`, () => {
    let subject: AuthenticatorSubject;
    let count = 0;
    const calm = () => new AbortController().signal;
    /** Returns another flow at each call. */
    const begin = (): AuthorizationRequest => {
      count += 1;
      const secret = (first: string) => `${first}${String(count).padStart(42, '0')}`;
      return {
        redirectUri: subject.redirectUri,
        state: secret('s'),
        nonce: secret('n'),
        codeVerifier: secret('v'),
      };
    };
    const addressOf = (flow: AuthorizationRequest) => subject.authenticator.authorizationUrl(flow, calm());
    const exchange = (url: URL, flow: AuthorizationRequest) => subject.authenticator.exchange(url, flow, calm());
    const failure = (work: Promise<unknown>) =>
      work.then(
        () => 'it was taken',
        (error: unknown) => error,
      );

    beforeAll(async () => {
      subject = await open();
    });
    afterAll(() => subject?.close());

    it('proves a person, by the same subject each time', async () => {
      const proofs = [];
      for (const flow of [begin(), begin()])
        proofs.push(await exchange(await subject.answer(await addressOf(flow)), flow));
      const [first, second] = proofs;
      expect(first?.subject).toMatch(/./);
      expect(first?.email).toMatch(/^[^@]+@[^@]+$/);
      expect(first?.emailVerified).toBe(true);
      expect(first?.name).toMatch(/./);
      expect(Array.isArray(first?.groups)).toBe(true);
      expect(second?.subject).toBe(first?.subject);
    });

    it('sends a browser to an address that has the state and keeps everything else of the flow', async () => {
      const [one, other] = [begin(), begin()];
      const [address, next] = [await addressOf(one), await addressOf(other)];
      expect(address.href).not.toBe(next.href);
      expect(address.href).toContain(one.state);
      for (const secret of [one.codeVerifier, ...subject.secrets]) expect(address.href).not.toContain(secret);
    });

    it('takes an answer under its own state only', async () => {
      const [flow, other] = [begin(), begin()];
      const answer = await subject.answer(await addressOf(flow));
      expect(await failure(exchange(answer, { ...flow, state: other.state }))).toBeInstanceOf(Terminal);
      const moved = new URL(answer);
      moved.searchParams.set('state', other.state);
      expect(await failure(exchange(moved, flow))).toBeInstanceOf(Terminal);
      const doubled = new URL(answer);
      doubled.searchParams.append('state', other.state);
      expect(await failure(exchange(doubled, flow))).toBeInstanceOf(Terminal);
    });

    it('takes an answer for the flow only that it was made for', async () => {
      for (const bound of subject.binds) {
        const [flow, other] = [begin(), begin()];
        const answer = await subject.answer(await addressOf(flow));
        expect(await failure(exchange(answer, { ...flow, [bound]: other[bound] }))).toBeInstanceOf(Terminal);
      }
    });

    it('takes nothing, an error and a piece of an answer for no answer', async () => {
      const flow = begin();
      const empty = new URL(subject.redirectUri);
      const bare = new URL(subject.redirectUri);
      bare.searchParams.set('state', flow.state);
      const refused = new URL(bare);
      refused.searchParams.set('error', 'access_denied');
      for (const url of [empty, bare, refused]) expect(await failure(exchange(url, flow))).toBeInstanceOf(Terminal);
      const answer = await subject.answer(await addressOf(flow));
      for (const [field, value] of [...answer.searchParams]) {
        if (field === 'state') continue;
        const cut = new URL(answer);
        cut.searchParams.set(field, value.slice(0, value.length / 2));
        if (['code', 'SAMLResponse'].includes(field))
          expect(await failure(exchange(cut, flow))).toBeInstanceOf(Terminal);
      }
    });

    it('begins nothing once it was told to stop', async () => {
      const flow = begin();
      const stopped = AbortSignal.abort();
      const answer = await subject.answer(await addressOf(flow));
      expect(await failure(subject.authenticator.authorizationUrl(flow, stopped))).toBeInstanceOf(Retryable);
      expect(await failure(subject.authenticator.exchange(answer, flow, stopped))).toBeInstanceOf(Retryable);
      // The stopped calls have not used the response up.
      expect(await failure(exchange(answer, flow))).toBe('it was taken');
    });

    it('says of a provider that does not answer that it may do so later', async () => {
      if (subject.down === undefined) return;
      const flow = begin();
      const answer = await subject.answer(await addressOf(flow));
      expect(await failure(subject.down.exchange(answer, flow, calm()))).toBeInstanceOf(Retryable);
    });
  });
}
