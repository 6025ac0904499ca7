import type { ErrorIssue } from '@belay/contract/errors';

/** Resolves `env:NAME` or `vault:path#key` to its value; returns undefined, or the reason, when there is none. */
export type ResolveReference = (reference: string) => string | undefined | { reason: string };

const pattern = /\$\{((?:env|vault):[^}]+)\}/g;

/** Returns a copy of `value` with every reference in its strings replaced. A reference without a value becomes an issue at its path. */
export function resolveReferences<T>(value: T, path: string, resolve: ResolveReference, issues: ErrorIssue[]): T {
  if (typeof value === 'string') {
    return value.replace(pattern, (whole, reference: string) => {
      const resolved = resolve(reference);
      if (typeof resolved === 'string') return resolved;
      issues.push({ path, message: `${whole} ${resolved?.reason ?? 'has no value'}` });
      return whole;
    }) as T;
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => resolveReferences(item, `${path}[${index}]`, resolve, issues)) as T;
  }
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, resolveReferences(item, `${path}.${key}`, resolve, issues)]),
    ) as T;
  }
  return value;
}

/** Returns every reference of one kind in the strings of a value, without duplicates. */
export function findReferences(value: unknown, kind: 'env' | 'vault'): string[] {
  const found = new Set<string>();
  const look = (item: unknown): void => {
    if (typeof item === 'string') {
      // Most texts contain no reference, and a long configuration has many texts.
      if (!item.includes('${')) return;
      for (const [, reference = ''] of item.matchAll(pattern))
        if (reference.startsWith(`${kind}:`)) found.add(reference);
    } else if (item !== null && typeof item === 'object') {
      for (const inner of Object.values(item)) look(inner);
    }
  };
  look(value);
  return [...found];
}
