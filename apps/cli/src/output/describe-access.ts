/**
 * Returns a provider's access in words: the text itself, or `name value` pairs of what it is made of. Complete on purpose: an
 * approver must see everything that will be granted.
 */
export function describeAccess(access: unknown): string {
  if (typeof access === 'string') return access;
  if (typeof access !== 'object' || access === null || Array.isArray(access)) return JSON.stringify(access) ?? '-';
  return Object.entries(access)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
