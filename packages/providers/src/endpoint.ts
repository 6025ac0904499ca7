import { z } from 'zod';

/** Returns whether a URL can only lead to the local machine (RFC 8252, 7.3). */
export function isLoopback(url: URL): boolean {
  return ['localhost', '[::1]'].includes(url.hostname) || /^127(\.\d{1,3}){3}$/.test(url.hostname);
}

/** An address to which secrets or people are sent: https, or the local machine; without credentials and fragment. */
export const endpoint = z.string().refine(isEndpoint, {
  message: 'must be an https URL without credentials or a fragment (http only for the local machine)',
});

function isEndpoint(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url));
}

/** A domain of e-mail addresses, converted to lower case. */
export const emailDomain = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/i,
    'is not a domain, for example example.com',
  )
  .transform((domain) => domain.toLowerCase());
