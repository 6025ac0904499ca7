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
/** What follows a parser costs the square of some of these; no honest answer comes near them. */
const most = { depth: 24, elements: 1_000, tagLength: 4_000, namespaces: 64 };
const tag = /<(?:[^<>"']|"[^<"]*"|'[^<']*')*>/y;

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
    throw new Terminal('The identity provider encrypts its responses, which is not supported');
  }
  for (const [, double, single] of body.matchAll(/\bAlgorithm\s*=\s*(?:"([^"]*)"|'([^']*)')?/g)) {
    if (!algorithms.has(double ?? single ?? '')) throw refused();
  }
  requireSmall(body);
}

function requireSmall(body: string): void {
  let elements = 0;
  /** Namespaces that each open element has in scope. */
  const open = [0];
  for (let at = body.indexOf('<'); at >= 0; at = body.indexOf('<', tag.lastIndex)) {
    tag.lastIndex = at;
    // The first that is no tag ends it: whoever posts must not have the rest searched again from each.
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
