import { isInDomains } from '@belay/contract/address';
import type { ErrorIssue } from '@belay/contract/errors';
import type { Catalog, CompiledProvider } from './catalog.js';
import type { OverseersDefinition } from './schema.js';

interface Surroundings {
  providers: ReadonlyMap<string, CompiledProvider>;
  authenticators: readonly string[];
}

/** Returns a warning for each administrator or auditor that no sign-in can prove: the entry has no effect. */
export function checkOverseers(overseers: Catalog['overseers'] = {}, surroundings: Surroundings): ErrorIssue[] {
  // The only sign-in provider is trusted for every address, and all of its groups count when it has no `groups`
  // setting.
  if (surroundings.authenticators.length < 2) return checkOne(overseers, surroundings, { only: true });
  return checkOne(overseers, surroundings, { only: false });
}

function checkOne(
  overseers: Catalog['overseers'],
  surroundings: Surroundings,
  { only }: { only: boolean },
): ErrorIssue[] {
  return (['administrators', 'auditors'] as const).flatMap((kind) => {
    const named: OverseersDefinition = overseers[kind] ?? {};
    const users = (named.users ?? []).map((user, index) =>
      only || isProvable(user, surroundings)
        ? undefined
        : {
            path: `access.${kind}.users[${index}]`,
            message: `no sign-in provider is trusted for the address ${user}, so the entry has no effect; add its domain to trusted_email_domains of the provider`,
          },
    );
    const groups = (named.groups ?? []).map((group, index) =>
      canPass(group, surroundings, only)
        ? undefined
        : {
            path: `access.${kind}.groups[${index}]`,
            message: `no sign-in provider passes the group ${JSON.stringify(group)}, so the entry has no effect; add it to groups of the provider`,
          },
    );
    return [...users, ...groups].filter((issue) => issue !== undefined);
  });
}

function isProvable(user: string, { providers, authenticators }: Surroundings): boolean {
  return authenticators.some((id) => isInDomains(user, providers.get(id)?.definition.trusted_email_domains ?? []));
}

function canPass(group: string, { providers, authenticators }: Surroundings, only: boolean): boolean {
  return authenticators.some((id) => {
    const rule = providers.get(id)?.definition.groups;
    if (rule === undefined) return only;
    if (rule === 'all') return true;
    return 'allow' in rule ? rule.allow.includes(group) : Object.values(rule.map).includes(group);
  });
}
