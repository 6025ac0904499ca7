import { canonicalJson } from '@belay/contract/canonical';
import { formatDuration } from '@belay/contract/durations';
import type { Evaluate } from '@belay/workflow';
import { describeRule } from '../approvals/subject.js';
import type { Catalog, CompiledRole } from '../configuration/catalog.js';
import type { UserActor } from '../context.js';
import { reads } from './answer-call.js';
import { type Rehearsal, rehearse, stranger } from './rehearse.js';

/** What a change of the configuration does to one role. */
export interface RoleChange {
  role: string;
  change: 'added' | 'removed' | 'changed';
  /** The terms that differ, such as the longest duration, before and after. */
  terms: { term: string; before: string; after: string }[];
  /** People for whom a request for the role, with its default duration, has another result. */
  people: { who: string; workflow: string; before: string; after: string }[];
}

/**
 * Returns what the change from one configuration to another means for requesters, by role. Requests are rehearsed for each
 * group and each address that one of the configurations names, and for a person whom neither names.
 */
export async function compareRoles(before: Catalog, after: Catalog, evaluate: Evaluate): Promise<RoleChange[]> {
  const changes: RoleChange[] = [];
  const names = new Set([...before.roles.keys(), ...after.roles.keys()]);
  for (const role of [...names].sort()) {
    const [one, other] = [enabledRole(before, role), enabledRole(after, role)];
    if (!one && !other) continue;
    const change = one && other ? 'changed' : one ? 'removed' : 'added';
    const terms = one && other ? compareTerms(describeTerms(before, one), describeTerms(after, other)) : [];
    const people = await comparePeople({ before, after, evaluate, role });
    if (change !== 'changed' || terms.length + people.length > 0) changes.push({ role, change, terms, people });
  }
  return changes;
}

function enabledRole(catalog: Catalog, name: string): CompiledRole | undefined {
  const role = catalog.roles.get(name);
  return role?.enabled ? role : undefined;
}

type Terms = Record<string, string>;

function describeTerms(catalog: Catalog, role: CompiledRole): Terms {
  const { definition, reason, accesses } = role;
  const access = [...accesses].map(
    ([provider, list]) => `${provider}: ${list.map((one) => canonicalJson(one)).join(', ')}`,
  );
  const documents = role.workflows.map((name) => `${name} ${catalog.workflows.get(name)?.digest.slice(0, 12)}`);
  return {
    'longest duration': formatDuration(role.maxDuration),
    'default duration': formatDuration(role.defaultDuration),
    'an approval lasts': formatDuration(role.approvalLifetime),
    reason: [reason.required ? 'required' : 'optional', reason.pattern?.source].filter(Boolean).join(', '),
    access: access.join('; '),
    workflows: documents.join(', '),
    'sign-in': definition.authenticators?.join(' or ') ?? 'any',
    'decisions in messages': definition.decide_on_page === true ? 'do not count' : 'count',
    delegates: canonicalJson(definition.permissions?.delegates ?? {}),
  };
}

function compareTerms(before: Terms, after: Terms): RoleChange['terms'] {
  return Object.entries(after).flatMap(([term, is]) =>
    before[term] === is ? [] : [{ term, before: before[term] ?? '', after: is }],
  );
}

interface Comparing {
  before: Catalog;
  after: Catalog;
  evaluate: Evaluate;
  role: string;
}

async function comparePeople({ before, after, evaluate, role }: Comparing): Promise<RoleChange['people']> {
  const found: RoleChange['people'] = [];
  const catalogs = [before, after];
  const workflows = new Set(catalogs.flatMap((catalog) => catalog.roles.get(role)?.workflows ?? []));
  const seen = new Map<string, string>();
  for (const { who, email, groups, as } of findPeople(catalogs, role)) {
    for (const workflow of workflows) {
      const [was, is] = await Promise.all(
        catalogs.map((catalog) => describeWay(catalog, evaluate, { email, groups, role, workflow })),
      );
      const way = canonicalJson([was, is]);
      seen.set(`${who} ${workflow}`, way);
      // A second group that changes nothing is not reported.
      if (was === undefined || is === undefined || was === is || seen.get(`${as} ${workflow}`) === way) continue;
      found.push({ who, workflow, before: was, after: is });
    }
  }
  return found;
}

interface Someone {
  who: string;
  /** The `who` of the same person without the second group. */
  as?: string;
  email: string;
  groups: string[];
}

/** Stands for people whom no configuration names. */
const unnamed = 'someone@person.invalid';

/** Returns one person for each address and group that can matter for a role in one of the configurations. */
function findPeople(catalogs: readonly Catalog[], name: string): Someone[] {
  const roles = catalogs.flatMap((catalog) => catalog.roles.get(name) ?? []);
  const audiences = catalogs.flatMap((catalog) => {
    const role = catalog.roles.get(name);
    const providers = role?.providers.map((id) => catalog.providers.get(id)?.definition.permissions) ?? [];
    return [role?.definition.permissions, ...providers];
  });
  const users = new Set(audiences.flatMap((audience) => audience?.users ?? []));
  const groups = new Set(audiences.flatMap((audience) => audience?.groups ?? []));
  const people: Someone[] = [{ who: 'everyone else', email: unnamed, groups: [] }];
  people.push(...[...groups].map(memberOf));
  for (const user of users) people.push({ who: user, email: user, groups: [] });
  // A workflow can have another result for people who are in a second group.
  const texts = catalogs.flatMap((catalog) =>
    roles.flatMap(({ workflows }) =>
      workflows.map((workflow) => JSON.stringify(catalog.workflows.get(workflow)?.definition)),
    ),
  );
  const mentioned = knownGroups(catalogs).filter((group) =>
    texts.some((text) => text?.includes(JSON.stringify(group).slice(1, -1))),
  );
  const others = mentioned.filter((group) => !groups.has(group)).map(memberOf);
  const second = people
    .filter(({ email, groups: own }) => email !== unnamed || own.length > 0)
    .flatMap(({ who, email, groups: own }) =>
      mentioned
        .filter((group) => !own.includes(group))
        .map((group) => ({ who: `${who}, also in ${group}`, as: who, email, groups: [...own, group] })),
    );
  return [...people, ...others, ...second];
}

const memberOf = (group: string): Someone => ({ who: `the group ${group}`, email: unnamed, groups: [group] });

function knownGroups(catalogs: readonly Catalog[]): string[] {
  const all = catalogs.flatMap(({ roles, overseers, providers }) => [
    ...[...roles.values()].map(({ definition }) => definition.permissions?.groups),
    ...[...providers.values()].map(({ definition }) => definition.permissions?.groups),
    overseers.administrators?.groups,
    overseers.auditors?.groups,
  ]);
  return [...new Set(all.flatMap((groups) => groups ?? []))];
}

/** Returns the result of a request, in words. */
async function describeWay(
  catalog: Catalog,
  evaluate: Evaluate,
  { email, groups, role, workflow }: { email: string; groups: string[]; role: string; workflow: string },
): Promise<string> {
  const definition = catalog.workflows.get(workflow)?.definition;
  const compiled = catalog.roles.get(role);
  const provider = compiled?.definition.authenticators?.[0] ?? catalog.authenticators[0] ?? '';
  const user: UserActor = stranger(email, groups, provider);
  const rehearsal = await rehearse(withoutReasons(catalog, compiled), evaluate, {
    user,
    terms: { role, workflow },
    at: new Date(0),
    timed: false,
    answers: {},
  });
  // The reason makes no difference for a person who may not request the role at all.
  const isBarred = rehearsal.result === 'rejected' && !rehearsal.because.includes('reason');
  if (!isBarred && definition && reads(definition, 'reason')) return 'not known: the workflow reads the reason';
  return describeRehearsal(rehearsal);
}

/** Returns a catalog in which the role accepts any reason: the rules for reasons are compared as terms of the role. */
function withoutReasons(catalog: Catalog, role: CompiledRole | undefined): Catalog {
  if (!role) return catalog;
  const free = { ...role, reason: { required: false, pattern: undefined } };
  return { ...catalog, roles: new Map(catalog.roles).set(role.name, free) };
}

/** Returns what a request leads to, in words: who approves, and for how long access is granted. */
export function describeRehearsal({ result, because, approvals, grants }: Rehearsal): string {
  if (result === 'rejected') return 'cannot be requested';
  if (result === 'unknown') return `not known: ${because}`;
  const asked = approvals.map(({ users, groups, count }) => describeRule({ users, groups, count, refusals: 1 }));
  const approval = asked.length === 0 ? 'no approval' : `approval by ${asked.join(', then ')}`;
  if (result === 'granted') return `${approval}, for ${grants.map(({ duration }) => duration).join(' and ')}`;
  return `${approval}, no access (${because})`;
}
