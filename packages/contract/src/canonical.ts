import { hash } from 'node:crypto';

/** Returns JSON with sorted keys and without undefined: the same value is always the same text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

/** Returns the SHA-256 of the canonical form, base64url. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64url');
}

/** Returns the SHA-256 of a secret, base64url, which is stored in its place. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}
