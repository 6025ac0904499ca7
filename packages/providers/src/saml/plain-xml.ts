import { Terminal } from '../errors.js';

/**
 * The accepted algorithms for signatures and digests: no SHA-1, no HMAC, and no transform that leaves out more than the
 * signature itself. Canonicalization also leaves out comments, but documents with comments are rejected.
 */
const algorithms = new Set([
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
]);
/** Limits, because the parser's time grows with the square of some of these numbers. Real responses stay far below them. */
const most = { depth: 24, elements: 1_000, tagLength: 4_000, namespaces: 64 };
const tag = /<(?:[^<>"']|"[^<"]*"|'[^<']*')*>/y;

/**
 * Rejects, before any parser runs, what identity providers do not write and attacks use: documents that are not UTF-8,
 * doctypes, entities, comments, CDATA and processing instructions, deep nesting, weak algorithms, encryption. Throws
 * `Terminal`.
 */
export function requirePlainXml(base64: string): void {
  const xml = decode(base64);
  const body = xml.replace(/^\uFEFF?\s*<\?xml\s[^?>]*\?>/, '');
  if (/<[!?]/.test(body)) throw refused();
  if (/<([\w.-]+:)?Encrypted/.test(body)) {
    throw new Terminal('The identity provider encrypts its responses, which is not supported');
  }
  for (const [, double, single] of body.matchAll(/\bAlgorithm\s*=\s*(?:"([^"]*)"|'([^']*)')?/g)) {
    if (!algorithms.has(double ?? single ?? '')) throw refused();
  }
  requireSmall(body);
}

function requireSmall(body: string): void {
  let elements = 0;
  /** Namespaces in scope at each open element. */
  const open = [0];
  for (let at = body.indexOf('<'); at >= 0; at = body.indexOf('<', tag.lastIndex)) {
    tag.lastIndex = at;
    // Stops at the first text that is not a tag, so that a hostile sender cannot cause a search from each position.
    const found = tag.exec(body)?.[0];
    if (found === undefined || found.length > most.tagLength) throw refused();
    if (found.startsWith('</')) {
      open.pop();
      continue;
    }
    const namespaces = (open.at(-1) ?? 0) + found.split('xmlns').length - 1;
    elements += 1;
    if (!found.endsWith('/>')) open.push(namespaces);
    if (elements > most.elements || open.length > most.depth || namespaces > most.namespaces) throw refused();
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
  return new Terminal("The identity provider's response failed validation");
}
