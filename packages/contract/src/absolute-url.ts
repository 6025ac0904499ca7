import { invalid } from './errors.js';

/**
 * Returns an address that a browser may be sent to: an absolute http or https URL without credentials and fragment, and
 * without anything that readers of URLs take in different ways. Throws `invalid`, naming `path`, for anything else.
 */
export function requireAbsoluteUrl(text: string, path: string): URL {
  // URL also accepts `http:host`, `http:\\host` and line breaks; other parsers read such addresses differently.
  const plain = /^https?:\/\/[^/?#]/i.test(text) && !/[\s\p{Cc}\\]/u.test(text) && URL.canParse(text);
  if (!plain) throw invalid(path, 'must be an absolute URL that begins with http:// or https://');
  const url = new URL(text);
  if (url.username || url.password) throw invalid(path, 'must not contain credentials');
  // No fragment may be in the URL that the code is added to, not even an empty one (RFC 6749, section 3.1.2).
  if (text.includes('#')) throw invalid(path, 'must not have a fragment');
  return url;
}
