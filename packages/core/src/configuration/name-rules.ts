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
 * listed itself: a name that resembles a denied one must not match a `*`. With `containers`, which returns what contains a thing, a
 * denial also counts for what lies within the denied thing, and for what the denied thing lies in, because access there reaches it.
 */
export function permits(rules: CompiledNames, name: string, containers?: (name: string) => string[]): boolean {
  if (denies(rules, name, containers)) return false;
  const plain = /^[\x20-\x7e]+$/.test(name);
  return rules.allow.some((pattern) => pattern === name || (plain && matches(pattern, name)));
}

/** Returns whether rules deny a name, which may be one of several of a thing: see `permits`. */
export function denies(
  { deny }: CompiledNames,
  name: string,
  containers: (name: string) => string[] = () => [],
): boolean {
  const loosely = folded(name);
  const around = containers(name).map(folded);
  return deny.some((text) => {
    const pattern = folded(text);
    if (matches(pattern, loosely)) return true;
    if (around.some((outer) => matches(pattern, outer) || matchesContainer(outer, pattern))) return true;
    return containers(text).some((outer) => matchesContainer(folded(outer), loosely));
  });
}

/** Matches a container, which can be a pattern: its `*` stands for one segment of a path. */
function matchesContainer(pattern: string, text: string): boolean {
  return pattern.split('/').length === text.split('/').length && matches(pattern, text);
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
