import type { ErrorIssue } from '@belay/contract/errors';
import type { CompiledProvider } from './catalog.js';

/**
 * The provider name of tokens that an operator created for a person who has not signed in; no configured provider may
 * have it.
 */
export const operatorProvider = 'operator';

/**
 * Returns the enabled sign-in providers, and a warning for each of them whose groups are not accepted because it has no
 * `groups` setting. Settings of authenticators on other providers are issues.
 */
export function checkAuthenticators(
  providers: ReadonlyMap<string, CompiledProvider>,
  issues: ErrorIssue[],
): { authenticators: string[]; warnings: ErrorIssue[] } {
  const signIn = [...providers.values()].filter(({ capabilities }) => capabilities.has('authenticator'));
  const authenticators = signIn.filter(({ enabled }) => enabled).map(({ id }) => id);
  for (const { id, definition, capabilities } of providers.values()) {
    if (id === operatorProvider) {
      issues.push({
        path: `providers.${id}`,
        message: 'is a reserved name: it is used for tokens that operators create',
      });
    }
    if (capabilities.has('authenticator')) {
      if (definition.scim && definition.scim.groups !== 'sign_in' && definition.sign_in?.organizations) {
        issues.push({
          path: `providers.${id}.sign_in.organizations`,
          message: 'cannot be used while groups come from SCIM; use sign_in.groups, or set scim.groups to sign_in',
        });
      }
      continue;
    }
    for (const key of ['groups', 'sign_in', 'scim'] as const) {
      if (definition[key] === undefined) continue;
      issues.push({
        path: `providers.${id}.${key}`,
        message: 'is only allowed for providers that people sign in with',
      });
    }
  }
  const silent = authenticators.filter((id) => providers.get(id)?.definition.groups === undefined);
  const warnings = authenticators.length < 2 ? [] : silent.map(warningFor);
  return { authenticators, warnings };
}

function warningFor(id: string): ErrorIssue {
  return {
    path: `providers.${id}`,
    message:
      'has no groups setting, and there are several sign-in providers, so none of its groups are accepted; set groups to all, {allow: [group, …]} or {map: {their group: our group, …}}',
  };
}
