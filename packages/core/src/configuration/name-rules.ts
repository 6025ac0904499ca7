import { hasUnseen } from '@belay/contract/text';

export interface CompiledNames {
  allow: readonly string[];
  deny: readonly string[];
}

/**
 * Returns what is wrong with a requested name; undefined when it is acceptable. A pattern is rejected, because every
 * grant must be named, and so is text that only looks like a name, because a provider might read it as another one.
 */
export function faultOfName(name: string): string | undefined {
  if (/[*?]/.test(name)) return 'must be a single name, not a pattern';
  if (name === '' || name !== name.normalize('NFKC') || hasUnseen(name) || /[^\S ]|^ | $| {2}/u.test(name)) {
    return 'contains characters that names cannot have';
  }
  return undefined;
}

/**
 * Returns whether rules allow a name. `deny` wins, and is compared as loosely as any provider might compare: without
 * case, accents, spacing and invisible characters. `allow` is compared exactly, and a name outside ASCII must be
 * listed itself: a name that resembles a denied one must not match a `*`.
 */
export function permits(rules: CompiledNames, name: string): boolean {
  const loosely = folded(name);
  if (rules.deny.some((pattern) => matches(folded(pattern), loosely))) return false;
  const plain = /^[\x20-\x7e]+$/.test(name);
  return rules.allow.some((pattern) => pattern === name || (plain && matches(pattern, name)));
}

function folded(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\p{C}\p{M}\p{Z}\s]/gu, '');
}

/**
 * Matches a pattern in which `*` stands for any characters. It matches piece by piece, without backtracking, so that
 * no pattern can make it slow.
 */
function matches(pattern: string, text: string): boolean {
  const [first = '', ...pieces] = pattern.split('*');
  const last = pieces.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
