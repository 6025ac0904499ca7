import { Terminal } from '../errors.js';

/** What may sign and digest: no SHA-1, no HMAC, no transform that leaves anything out (comments among it) but the signature itself. */
const algorithms = new Set([
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
]);
const deepest = 64;

/**
 * Refuses, before any parser sees it, what no identity provider writes and attacks are made of: documents that are not
 * UTF-8, doctypes, entities, comments, CDATA and processing instructions, deep nesting, weak algorithms, encryption.
 * Throws `Terminal`.
 */
export function requirePlainXml(base64: string): void {
  const xml = decode(base64);
  const body = xml.replace(/^\uFEFF?\s*<\?xml\s[^?>]*\?>/, '');
  if (/<[!?]/.test(body)) throw refused();
  if (/<([\w.-]+:)?Encrypted/.test(body)) {
    throw new Terminal('The identity provider encrypts its answers, which is not supported');
  }
  for (const [, double, single] of body.matchAll(/\bAlgorithm\s*=\s*(?:"([^"]*)"|'([^']*)')?/g)) {
    if (!algorithms.has(double ?? single ?? '')) throw refused();
  }
  let depth = 0;
  for (const [tag] of body.matchAll(/<(?:[^>"']|"[^"]*"|'[^']*')*>/g)) {
    if (tag.startsWith('</')) depth -= 1;
    else if (!tag.endsWith('/>')) depth += 1;
    if (depth > deepest) throw refused();
  }
}

function decode(base64: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    throw refused();
  }
}

function refused(): Terminal {
  return new Terminal('The answer of the identity provider does not hold');
}
