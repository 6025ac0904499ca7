import { isNamed } from '@belay/contract/audience';
import { AccessError } from '@belay/contract/errors';
import { requireFreshGroups, requireUser } from '../actor.js';
import { operatorProvider } from '../configuration/authenticators.js';
import type { OverseersDefinition } from '../configuration/schema.js';
import type { Actor, ActorStore, Store, UserActor } from '../context.js';
import { isTrusted } from './admission.js';

/** What the configuration lets a person oversee (`access`): an administrator may also act. */
export type Oversight = 'administrator' | 'auditor';

/**
 * Returns what the caller oversees by the configuration in force; null for everyone else. An address counts only from a sign-in provider
 * that is trusted for it, a group only as `passingGroups` returns it, and a token only of a person whom `tokens` names. Data that is too
 * old does not count, and neither does a person who acts without a login. Oversight gives no right to approve or to be granted anything.
 */
export function oversightOf(ctx: Store, actor: Actor): Oversight | null {
  if (actor.kind !== 'user' || actor.stale === true) return null;
  const { administrators, auditors } = ctx.catalog.current().overseers;
  if (administrators && isOverseer(ctx, actor, administrators)) return 'administrator';
  return auditors && isOverseer(ctx, actor, auditors) ? 'auditor' : null;
}

/** Returns whether the caller may see every request: administrators, auditors and operators. */
export function seesEveryRequest(ctx: Store, actor: Actor): boolean {
  return actor.kind === 'operator' || oversightOf(ctx, actor) !== null;
}

/**
 * Throws `forbidden` unless the caller is an administrator, an auditor or an operator; throws `unavailable` instead
 * when the caller would oversee something, but their groups are stale.
 */
export function requireOverseer(ctx: ActorStore, message = 'Only administrators and auditors can see this'): void {
  if (seesEveryRequest(ctx, ctx.actor)) return;
  refuse(ctx, message);
}

/**
 * Throws `forbidden` unless the caller is an administrator or an operator, or `unavailable` as `requireOverseer` does.
 */
export function requireAdministrator(ctx: ActorStore): void {
  const { actor } = ctx;
  if (actor.kind === 'operator' || oversightOf(ctx, actor) === 'administrator') return;
  refuse(ctx, 'Only administrators can do this');
}

function isOverseer(ctx: Store, user: UserActor, { users, groups, tokens }: OverseersDefinition): boolean {
  const isNamedIn = (addresses: string[] = []) =>
    isNamed(user, { users: addresses }) &&
    (user.provider === operatorProvider || isTrusted(ctx, user.provider, user.email));
  if (user.by === 'token') return isNamedIn(tokens);
  if (user.by === undefined) return false;
  return isNamed(user, { groups: groups ?? [] }) || isNamedIn(users);
}

function refuse(ctx: ActorStore, message: string): never {
  const { actor } = ctx;
  if (actor.kind === 'user') {
    const { stale: _stale, ...fresh } = actor;
    if (oversightOf(ctx, fresh) !== null) requireFreshGroups(actor);
    const { by } = actor;
    if (by === 'token' && oversightOf(ctx, { ...fresh, by: 'browser' }) !== null) {
      throw new AccessError(
        'forbidden',
        `${message}, and \`access\` does not list you under \`tokens\`; sign in instead`,
      );
    }
  }
  throw new AccessError('forbidden', message);
}

/** Returns who the caller is, and what they oversee. */
export async function readWhoami(ctx: ActorStore): Promise<{
  id: string;
  email: string;
  name: string;
  groups: string[];
  provider: string;
  oversight?: Oversight;
}> {
  const user = requireUser(ctx);
  const { id, email, name, groups, provider } = user;
  const oversight = oversightOf(ctx, user);
  return { id, email, name, groups, provider, ...(oversight ? { oversight } : {}) };
}
