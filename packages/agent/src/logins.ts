import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { requireAbsoluteUrl } from '@belay/contract/absolute-url';
import { AccessError, invalid } from '@belay/contract/errors';
import type { LocalLogins } from './verbs/ports.js';

/** How long a sign-in that was started here may take, in milliseconds. */
const lifetime = 5 * 60_000;
/** More sign-ins than a person starts at once; the oldest ones are dropped. */
const most = 100;

interface Begun {
  secret: string;
  codeVerifier: string;
  provider: string | undefined;
  callback: string | undefined;
  until: number;
}

export interface LocalLoginsOptions {
  /** The server's address. */
  server: string;
  /** The agent's own address. */
  baseUrl: string;
  /** How the server describes this program to the person. */
  label: string;
  randomBytes(size: number): Buffer;
  /** Returns milliseconds from a clock that never goes back, even when the system's clock is set. */
  elapsed(): number;
}

/**
 * Returns the sign-ins that were started here and are not complete. They are only in memory, so that codes of an earlier run are worthless.
 * The browser returns to an address that cannot be guessed, and the code that it brings is worthless without the verifier, which stays in
 * this process (RFC 7636, RFC 8252).
 */
export function createLocalLogins({ server, baseUrl, label, randomBytes, elapsed }: LocalLoginsOptions): LocalLogins {
  const begun = new Map<string, Begun>();
  const key = randomBytes(32);
  const own = new URL(baseUrl).origin;

  function prune(): void {
    for (const [id, { until }] of begun) if (until <= elapsed()) begun.delete(id);
    for (const id of [...begun.keys()].slice(0, Math.max(0, begun.size - most))) begun.delete(id);
  }

  return {
    begin({ provider, callback }) {
      const page = callback === undefined ? undefined : requireOwn(callback, own);
      const [id, secret, codeVerifier] = [16, 32, 32].map((size) => randomBytes(size).toString('base64url')) as [
        string,
        string,
        string,
      ];
      begun.set(id, { secret, codeVerifier, provider, callback: page, until: elapsed() + lifetime });
      prune();
      const query = new URLSearchParams({
        ...(provider === undefined ? {} : { provider }),
        callback: `${own}/auth/return/${secret}`,
        code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
        code_challenge_method: 'S256',
        label,
      });
      return {
        url: `${server}/api/v1/auth?${query}`,
        code: seal(id, key, randomBytes(12)),
        expiresIn: lifetime / 1000,
      };
    },
    take(code, provider) {
      prune();
      const id = unseal(code, key);
      const found = id === undefined ? undefined : begun.get(id);
      if (id === undefined || !found || (found.provider !== undefined && found.provider !== provider)) {
        throw new AccessError('forbidden', 'The verification code is unknown, used, expired, or for another provider');
      }
      begun.delete(id);
      return { restore: () => void begun.set(id, found) };
    },
    takeReturn(secret) {
      prune();
      const id = [...begun].find(([, login]) => login.secret === secret)?.[0];
      const found = id === undefined ? undefined : begun.get(id);
      if (id === undefined || !found) return undefined;
      begun.delete(id);
      return found;
    },
  };
}

/** Returns the address if it belongs to the agent or to a program on this machine, in a form that is safe in a header. Throws `invalid`. */
function requireOwn(callback: string, own: string): string {
  const { href, origin, protocol, hostname } = requireAbsoluteUrl(callback, 'callback');
  if (origin === own || (protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname))) return href;
  throw invalid('callback', 'must be an address of this machine');
}

function seal(id: string, key: Buffer, nonce: Buffer): string {
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(id, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

function unseal(code: string, key: Buffer): string | undefined {
  try {
    const bytes = Buffer.from(code, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 });
    decipher.setAuthTag(bytes.subarray(-16));
    return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
