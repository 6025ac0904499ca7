import type { ErrorIssue } from '../errors.js';

/** Turns `env:NAME` or `vault:path#key` into its value, or undefined when there is none. */
export type ResolveReference = (reference: string) => string | undefined;

const pattern = /\$\{((?:env|vault):[^}]+)\}/g;

/** A copy of `value` with every `${env:NAME}` in its strings replaced; what cannot be resolved becomes an issue at its path. */
export function resolveReferences<T>(value: T, path: string, resolve: ResolveReference, issues: ErrorIssue[]): T {
  if (typeof value === 'string') {
    return value.replace(pattern, (whole, reference: string) => {
      const resolved = resolve(reference);
      if (resolved === undefined) issues.push({ path, message: `${whole} has no value` });
      return resolved ?? whole;
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
