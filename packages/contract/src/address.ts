/** Longer than any address that can receive mail (RFC 5321, 4.5.3.1). */
const longest = 320;
/** Quotes and comments let one mailbox be written in several ways (RFC 5322, 3.4.1). */
const special = /[\s\p{C}\p{Zl}\p{Zp}()<>[\]:;\\,"]/u;
const domainName = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/;

/**
 * Returns the form of an e-mail address that is stored and compared. Undefined for a text that is not an address, and for an
 * address that different systems would fold differently (`İvan@…`, `ſ`, `ß`, a final sigma). Every comparison of addresses in
 * Belay uses this form.
 */
export function foldAddress(address: string): string | undefined {
  if (address.length > longest || special.test(address)) return undefined;
  const [local = '', domain = '', ...more] = address.split('@');
  if (local === '' || more.length > 0) return undefined;
  const folded = foldLetters(local);
  const host = foldDomain(domain);
  return folded === undefined || host === undefined ? undefined : `${folded}@${host}`;
}

/**
 * Returns the form in which the name of a person or an account is stored and compared: an address as `foldAddress` returns it, any other
 * text without the difference of case, width and ligatures. The only folding of names: SQL's `lower()` depends on the locale of the
 * database, and JavaScript's alone depends on the place of a letter in its word.
 */
export function foldName(name: string): string {
  return foldAddress(name) ?? foldText(name);
}

function foldText(text: string): string {
  const letters = Array.from(text.normalize('NFKC'), (letter) => letter.toLowerCase());
  return letters.join('').replaceAll('ς', 'σ').normalize('NFKC');
}

/** Returns the form in which a mail domain is compared, in ASCII; undefined for a text that is not a domain. */
export function foldDomain(domain: string): string | undefined {
  const folded = foldLetters(domain);
  if (folded === undefined) return undefined;
  const ascii = isAscii(folded) ? folded : toAscii(folded);
  return domainName.test(ascii) ? ascii : undefined;
}

/** Returns whether two texts are the same address; texts that cannot be compared are not. */
export function isSameAddress(one: string, other: string): boolean {
  const folded = foldAddress(one);
  return folded !== undefined && folded === foldAddress(other);
}

/** Returns whether an address is exactly in one of the domains: a subdomain may belong to another organization. */
export function isInDomains(email: string, domains: readonly string[]): boolean {
  const domain = foldAddress(email)?.split('@')[1];
  return domain !== undefined && domains.includes(domain);
}

/**
 * Returns the text in lower case; undefined unless that form is unambiguous in Unicode. The lower case of each letter must be
 * one letter, stay the same after a round trip through upper case, not depend on its place in the word, and be in NFKC.
 */
function foldLetters(text: string): string | undefined {
  if (isAscii(text)) return text.toLowerCase();
  if (text !== text.normalize('NFKC')) return undefined;
  const letters = Array.from(text, (letter) => letter.toLowerCase());
  if (letters.some((letter) => Array.from(letter).length > 1 || letter.toUpperCase().toLowerCase() !== letter)) {
    return undefined;
  }
  const folded = letters.join('');
  return folded === text.toLowerCase() && folded === folded.normalize('NFKC') ? folded : undefined;
}

function isAscii(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

/** Returns the ASCII form of an internationalised domain (UTS #46); an empty text for a domain that is not valid. */
function toAscii(domain: string): string {
  const url = `https://${domain}/`;
  return URL.canParse(url) ? new URL(url).hostname : '';
}
