export interface CompiledNames {
  allow: readonly string[];
  deny: readonly string[];
}

/**
 * What is wrong with a name that somebody asks for; undefined when it can be looked at. A pattern is none: whatever is
 * granted was named. Nor is text that only looks like a name, because a provider might read it as another one.
 */
export function faultOfName(name: string): string | undefined {
  if (/[*?]/.test(name)) return 'must be a single name, not a pattern';
  if (name === '' || name !== name.normalize('NFKC') || /[\p{C}\p{Zl}\p{Zp}]|[^\S ]|^ | $| {2}/u.test(name)) {
    return 'contains characters that names cannot have';
  }
  return undefined;
}

/**
 * Whether rules let a name pass. `deny` wins, and is compared as loosely as any provider might compare: without case,
 * accents, spacing and invisible characters. `allow` is compared exactly, and a name outside ASCII must be listed itself:
 * what resembles a denied name must not slip through a `*`.
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

/** `*` stands for any run of characters. Piece after piece, never backtracking: no pattern can make it slow. */
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
