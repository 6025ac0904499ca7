import { invalid } from '@belay/contract/errors';
import { z } from 'zod';
import type { CompiledProvider } from '../configuration/catalog.js';

/** The part of a connector's configuration that says what a session may be asked for. */
const scopesOf = z.object({ scopes: z.array(z.string()).catch([]), session_scopes: z.array(z.string()).catch([]) });

/** The scopes asked for, each allowed by the provider's `scopes` or `session_scopes`. Throws `invalid` naming the first that is not. */
export function checkScopes(provider: CompiledProvider, asked: readonly string[]): string[] {
  const parsed = scopesOf.safeParse(provider.config ?? {});
  const allowed = new Set(parsed.success ? [...parsed.data.scopes, ...parsed.data.session_scopes] : []);
  asked.forEach((scope, index) => {
    if (!allowed.has(scope)) throw invalid(`scopes[${index}]`, 'is not an allowed scope of this provider');
  });
  return [...new Set(asked)];
}
