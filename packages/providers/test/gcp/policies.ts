import type { Answer } from '../support/fake-server.js';
import { isCondition, isMet } from './conditions.js';

export interface Binding {
  role: string;
  members?: string[];
  condition?: { title: string; expression: string; description?: string };
}

export interface Project {
  id: string;
  number: string;
  state: 'ACTIVE' | 'DELETE_REQUESTED';
  bindings: Binding[];
  auditConfigs: unknown[];
  etag: string;
}

/** An account of Google. Its id is in no e-mail address, and stays when it is renamed or deleted. */
export interface User {
  id: string;
  email: string;
  deleted: boolean;
}

/** What the policies depend on besides the projects themselves. */
export interface PolicyWorld {
  now(): number;
  users: User[];
  roles: Map<string, string[]>;
  /** A condition on the connector's permission to change policies, as in the guide. */
  grantorCondition?: string | undefined;
}

export function refusal(code: number, status: string, message = 'no'): Answer {
  return { status: code, body: { error: { code, status, message } } };
}

const invalid = (message: string) => refusal(400, 'INVALID_ARGUMENT', message);
const isConditional = (bindings: readonly Binding[]) => bindings.some(({ condition }) => condition);
const nextEtag = (etag: string) =>
  Buffer.from(`${Number(Buffer.from(etag, 'base64').toString()) + 1}`).toString('base64');

export function createProject(id: string, number: string): Project {
  return {
    id,
    number,
    state: 'ACTIVE',
    bindings: [],
    auditConfigs: [{ service: 'allServices', auditLogConfigs: [{ logType: 'DATA_READ' }] }],
    etag: Buffer.from('1').toString('base64'),
  };
}

/** Serves `getIamPolicy`: a request without version 3 gets names of roles with a suffix instead of conditions. */
export function readPolicy({ bindings, auditConfigs, etag }: Project, requested: number | undefined): Answer {
  const conditional = isConditional(bindings);
  if (conditional && requested !== 3) {
    const flat = bindings.map(({ role, members, condition }, index) => ({
      role: condition ? `${role}_withcond_${index}` : role,
      members,
    }));
    return { status: 200, body: { version: 1, etag, bindings: flat, auditConfigs } };
  }
  return { status: 200, body: { version: conditional ? 3 : 1, etag, bindings, auditConfigs } };
}

interface SetBody {
  policy: { version?: number; etag?: string; bindings?: Binding[]; auditConfigs?: unknown[] };
  updateMask?: string;
}

/** Serves `setIamPolicy`: replaces the policy as a whole, by Google's rules for versions, etags and limits. */
export function replacePolicy(
  project: Project,
  { policy, updateMask = 'bindings,etag' }: SetBody,
  world: PolicyWorld,
): Answer {
  if (project.state !== 'ACTIVE') return refusal(400, 'FAILED_PRECONDITION', 'the project is being deleted');
  const bindings = (policy.bindings ?? []).filter(({ members = [] }) => members.length > 0);
  const { version = 1, etag } = policy;
  if (![0, 1, 3].includes(version)) return invalid('no such version');
  if (etag !== undefined && etag !== project.etag)
    return refusal(409, 'ABORTED', 'There were concurrent policy changes');
  // Without an etag Google overwrites everything, including conditions of others.
  if (version !== 3 && (isConditional(bindings) || (etag !== undefined && isConditional(project.bindings)))) {
    return invalid('conditions need version 3');
  }
  const fault = findFault(bindings, world);
  if (fault !== undefined) return invalid(fault);
  const { grantorCondition } = world;
  const modified = findModified(project.bindings, bindings);
  if (grantorCondition !== undefined && !isMet(grantorCondition, world.now(), modified)) {
    return refusal(403, 'PERMISSION_DENIED');
  }
  project.bindings = bindings;
  if (updateMask.includes('auditConfigs')) project.auditConfigs = policy.auditConfigs ?? [];
  project.etag = nextEtag(project.etag);
  return readPolicy(project, 3);
}

function findFault(bindings: readonly Binding[], { users, roles }: PolicyWorld): string | undefined {
  const all = bindings.flatMap(({ members = [] }) => members);
  if (all.length > 1_500) return 'too many principals';
  const counts = new Map<string, number>();
  for (const { role, members = [], condition } of bindings) {
    if (!roles.has(role)) return `Role ${role} is not supported for this resource.`;
    if (condition && /^roles\/(owner|editor|viewer)$/.test(role)) return 'basic roles take no condition';
    if (condition && (condition.title.length > 100 || !isCondition(condition.expression))) return 'invalid condition';
    for (const member of members) {
      const key = `${role} ${member}`;
      if (condition) counts.set(key, (counts.get(key) ?? 0) + 1);
      if ((counts.get(key) ?? 0) > 20) return 'too many conditional bindings';
      if (!isPrincipal(member, users)) return `${member} does not exist.`;
    }
  }
  return undefined;
}

function isPrincipal(member: string, users: readonly User[]): boolean {
  if (!/^(deleted:)?user:/.test(member)) return /^(group|serviceAccount|domain):./.test(member);
  return users.some(({ id, email, deleted }) =>
    deleted ? member === `deleted:user:${email}?uid=${id}` : member === `user:${email}`,
  );
}

/** Returns the roles whose grants a change adds or removes. */
function findModified(before: readonly Binding[], after: readonly Binding[]): string[] {
  const grantsOf = (bindings: readonly Binding[], role: string) =>
    JSON.stringify(bindings.filter((one) => one.role === role));
  const roles = new Set([...before, ...after].map(({ role }) => role));
  return [...roles].filter((role) => grantsOf(before, role) !== grantsOf(after, role));
}

/** Returns whether the person has the permission in the project now, as Google would decide it. */
export function testPermission(project: Project, email: string, permission: string, world: PolicyWorld): boolean {
  return project.bindings.some(
    ({ role, members = [], condition }) =>
      members.includes(`user:${email}`) &&
      world.roles.get(role)?.includes(permission) === true &&
      (!condition || isMet(condition.expression, world.now())),
  );
}
