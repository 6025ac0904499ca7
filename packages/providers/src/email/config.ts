import { foldAddress } from '@belay/contract/address';
import { z } from 'zod';
import { isLoopback } from '../endpoint.js';

const address = z.string().refine(isMailbox, 'must be one e-mail address, for example belay@example.com');
const pem = z.string().regex(/-----BEGIN [A-Z ]+-----/, 'must be in PEM form');
const line = z.string().regex(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u, 'must be one line without control characters');

const settings = z.strictObject({
  /** The mail server that accepts messages from Belay. */
  host: z.string().regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$|^[0-9a-f:]+$/i, 'must be a host name or an IP address'),
  /** 587 unless set; 465 with `security: tls`. */
  port: z.int().min(1).max(65_535).optional(),
  /** `starttls` encrypts the connection before it sends credentials or a message, and sends neither when that fails. */
  security: z.enum(['starttls', 'tls', 'none']).default('starttls'),
  /** The authority that signs the server's certificate, when Node.js does not trust it by default. */
  ca: pem.optional(),
  username: line.optional(),
  password: z.string().min(1).optional(),
  /** The sender of every message. */
  from: address,
  from_name: line.max(100).default('Belay'),
});

/** The configuration of a provider of type `email`. */
export const emailConfig = settings
  .refine(({ security, host }) => security !== 'none' || isThisMachine(host), {
    path: ['security'],
    message: 'can only be none when host is this machine (localhost, 127.0.0.1 or ::1)',
  })
  .refine(({ username, password }) => (username === undefined) === (password === undefined), {
    path: ['password'],
    message: 'must be set together with username',
  });

export type EmailConfig = z.infer<typeof settings>;

/** Returns whether a text is exactly one address: no list, no name, no group, no line break. */
export function isMailbox(text: string): boolean {
  return text.length <= 254 && foldAddress(text) !== undefined;
}

function isThisMachine(host: string): boolean {
  const url = `http://${host.includes(':') ? `[${host}]` : host}`;
  return URL.canParse(url) && isLoopback(new URL(url));
}
