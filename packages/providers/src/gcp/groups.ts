import { foldAddress } from '@belay/contract/address';
import { z } from 'zod';
import { Pending, Terminal } from '../errors.js';
import { type HttpAnswer, parseAnswer, timeOf } from '../http/answer.js';
import { path } from '../http/client.js';
import { nextByCursor, readPages } from '../http/pages.js';
import type { Entitlement } from '../port.js';
import { createTurns } from '../turns.js';
import { type GroupAccess, readAccess } from './access.js';
import type { GcpConfig } from './config.js';
import { type GoogleClients, type KindOfAccess, target } from './kind.js';

const label = 'cloudidentity.googleapis.com/groups.';
const groupName = /^groups\/[^/]+$/;
const nameSchema = z.object({ name: z.string().min(1) });
const groupSchema = z.object({
  name: z.string().regex(groupName),
  labels: z.record(z.string(), z.string()).optional(),
  dynamicGroupMetadata: z.unknown().optional(),
});
const membershipSchema = z.object({
  name: z.string().regex(/^groups\/[^/]+\/memberships\/[^/]+$/),
  type: z.string().optional(),
  preferredMemberKey: z.object({ id: z.string() }).optional(),
  roles: z
    .array(z.object({ name: z.string(), expiryDetail: z.object({ expireTime: z.string() }).optional() }))
    .optional(),
});
type Membership = z.infer<typeof membershipSchema>;
const pageSchema = z.object({
  memberships: z.array(membershipSchema).optional(),
  nextPageToken: z.string().optional(),
});
const userSchema = z.object({ id: z.string().min(1), primaryEmail: z.string() });
const operationSchema = z.object({ done: z.boolean().optional(), error: z.object({ code: z.number() }).optional() });
const pinned = z.strictObject({ user: z.string().min(1), group: z.string().regex(groupName) });

/** How long reads may lag behind a creation, in milliseconds. */
const settling = 60_000;
/** How many accounts of a list are read at once. */
const together = 8;
const noGroup = 'The group does not exist';

/** A group of the directory: every address of it finds it. */
const addressesSchema = z.object({
  email: z.string(),
  aliases: z.array(z.string()).default([]),
  nonEditableAliases: z.array(z.string()).default([]),
});

/** The resource name of a group, and an account with its identifier and current address. */
interface Place {
  group: string;
  user: z.infer<typeof userSchema>;
}

/** Creates the part that makes people members of groups, with an end where the edition supports it. */
export function createGroupAccess(
  config: GcpConfig,
  { groups, directory }: GoogleClients,
  now: () => number,
): KindOfAccess {
  const turns = createTurns();
  /** The time until which reads may lack a membership that this process created, in milliseconds since 1970. */
  const unsettled = new Map<string, number>();
  const asked = (at: string) => ({ service: 'Google Groups', method: 'GET', path: at });

  async function findUser(key: string, signal: AbortSignal) {
    if (foldAddress(key) === undefined && !/^\d+$/.test(key)) return null;
    const at = path`/admin/directory/v1/users/${key}`;
    return directory.find({ method: 'GET', path: at, schema: userSchema }, signal);
  }

  /** Returns null when the group does not exist, else throws `Terminal`. Google returns 403 for both; the directory tells which. */
  async function refuseUnlessGone(key: string, signal: AbortSignal): Promise<null> {
    const at = path`/admin/directory/v1/groups/${key}`;
    const found = await directory.find({ method: 'GET', path: at, schema: z.object({ id: z.string() }) }, signal);
    if (found) throw new Terminal('Google Groups does not permit this to the connector');
    return null;
  }

  async function findGroup(email: string, signal: AbortSignal): Promise<string | null> {
    const query = { 'groupKey.id': email };
    const call = { method: 'GET' as const, path: '/v1/groups:lookup', query, accept: [403, 404] };
    const answer = await groups.send(call, signal);
    if (answer.status >= 400) return refuseUnlessGone(email, signal);
    return parseAnswer(z.object({ name: z.string().regex(groupName) }), answer.body, asked(call.path)).name;
  }

  /** Returns null when the account does not exist any more. */
  async function placeOf({ pin }: Entitlement, signal: AbortSignal): Promise<Place | null> {
    const subject = pinned.safeParse(pin.subject);
    if (!subject.success) throw new Terminal('The stored identifiers are not those of this kind of access');
    const user = await findUser(subject.data.user, signal);
    return user && { group: subject.data.group, user };
  }

  async function findMembership({ group, user }: Place, signal: AbortSignal) {
    const at = `/v1/${group}/memberships:lookup`;
    const query = { 'memberKey.id': user.primaryEmail };
    const found = await groups.send({ method: 'GET', path: at, query, accept: [403, 404] }, signal);
    if (found.status === 404) return null;
    if (found.status === 403) return refuseUnlessGone(group.slice('groups/'.length), signal);
    const { name } = parseAnswer(nameSchema, found.body, asked(at));
    const answer = await groups.send({ method: 'GET', path: `/v1/${name}`, accept: [404] }, signal);
    if (answer.status === 404) return null;
    return { membership: parseAnswer(membershipSchema, answer.body, asked(at)), time: timeOf(answer) };
  }

  /** Throws `Terminal` when the group does not exist, or when a query or another system decides who its members are. */
  async function checkGroup(name: string, signal: AbortSignal): Promise<void> {
    const answer = await groups.send({ method: 'GET', path: `/v1/${name}`, accept: [403, 404] }, signal);
    if (answer.status >= 400) {
      await refuseUnlessGone(name.slice('groups/'.length), signal);
      throw new Terminal(noGroup);
    }
    const { labels = {}, dynamicGroupMetadata } = parseAnswer(groupSchema, answer.body, asked(`/v1/${name}`));
    if (`${label}dynamic` in labels || dynamicGroupMetadata !== undefined) {
      throw new Terminal('The group is dynamic: a query decides who its members are');
    }
    if (`${label}locked` in labels)
      throw new Terminal('The group is locked: another system decides who its members are');
  }

  const keyOf = ({ group, user }: Place) => `${group} ${user.id}`;
  const isUnsettled = (place: Place) => now() < (unsettled.get(keyOf(place)) ?? 0);
  const inTurn = <T>(place: Place, signal: AbortSignal, work: () => Promise<T>) => {
    return turns(keyOf(place), signal, work).finally(() => {
      if (!isUnsettled(place)) unsettled.delete(keyOf(place));
    });
  };

  function refuseUnlessDone({ body }: HttpAnswer, at: string): void {
    const { done, error } = parseAnswer(operationSchema, body, asked(at));
    if (error) throw new Terminal('Google Groups could not change the membership');
    if (done !== true) throw new Pending('Google Groups is changing the membership');
  }

  const memberRole = (until: Date) => ({ name: 'MEMBER', expiryDetail: { expireTime: until.toISOString() } });

  async function create(place: Place, until: Date, signal: AbortSignal): Promise<void> {
    const at = `/v1/${place.group}/memberships`;
    const roles = [config.group_expiry ? memberRole(until) : { name: 'MEMBER' }];
    const json = { preferredMemberKey: { id: place.user.primaryEmail }, roles };
    unsettled.set(keyOf(place), now() + settling);
    const answer = await groups.send({ method: 'POST', path: at, json, accept: [400, 409] }, signal);
    if (answer.status === 409) return;
    if (answer.status === 400) {
      unsettled.delete(keyOf(place));
      throw new Terminal(
        config.group_expiry
          ? 'Google Groups does not accept the membership: the group accepts no such member, or the edition has no memberships that expire (then set group_expiry: false)'
          : 'Google Groups does not accept the membership: the group accepts no such member',
      );
    }
    refuseUnlessDone(answer, at);
  }

  async function extend({ name, roles = [] }: Membership, until: Date, signal: AbortSignal): Promise<void> {
    const end = Date.parse(roles.find((one) => one.name === 'MEMBER')?.expiryDetail?.expireTime ?? '');
    // A membership without an end is never extended.
    if (Number.isNaN(end) || end >= until.getTime()) return;
    const json = {
      updateRolesParams: [{ fieldMask: 'expiryDetail.expireTime', membershipRole: memberRole(until) }],
    };
    await groups.send({ method: 'POST', path: `/v1/${name}:modifyMembershipRoles`, json }, signal);
  }

  return {
    async pin(named, signal) {
      const { group } = readAccess(named) as GroupAccess;
      const user = await findUser(named.identity, signal);
      const name = user && (await findGroup(group, signal));
      return user && name !== null ? { user: user.id, group: name } : null;
    },

    async aliases(pin, signal) {
      const { data: subject } = pinned.safeParse(pin.subject);
      if (!subject) return [];
      const at = path`/admin/directory/v1/groups/${subject.group.slice('groups/'.length)}`;
      const found = await directory.find({ method: 'GET', path: at, schema: addressesSchema }, signal);
      if (!found) return [];
      const addresses = [found.email, ...found.aliases, ...found.nonEditableAliases];
      return addresses.map((address) => `group/${foldAddress(address) ?? address}`);
    },

    async holds(entitlement, signal) {
      const place = await placeOf(entitlement, signal);
      if (!place) return false;
      const found = await findMembership(place, signal);
      if (!found) return isUnsettled(place) ? 'changing' : false;
      unsettled.delete(keyOf(place));
      const { roles = [] } = found.membership;
      const isOver = ({ expiryDetail }: (typeof roles)[number]) =>
        Date.parse(expiryDetail?.expireTime ?? '') <= (found.time ?? Number.NEGATIVE_INFINITY);
      return roles.length === 0 || !roles.every(isOver);
    },

    async ensurePresent(entitlement, until, signal) {
      const place = await placeOf(entitlement, signal);
      if (!place) throw new Terminal('The Google account does not exist');
      await checkGroup(place.group, signal);
      await inTurn(place, signal, async () => {
        const found = await findMembership(place, signal);
        if (found) await extend(found.membership, until, signal);
        else await create(place, until, signal);
      });
    },

    async ensureAbsent(entitlement, signal) {
      const place = await placeOf(entitlement, signal);
      if (!place) return;
      await inTurn(place, signal, async () => {
        const found = await findMembership(place, signal);
        if (!found) {
          if (isUnsettled(place)) throw new Pending('Google Groups does not show the membership yet');
          return;
        }
        const at = `/v1/${found.membership.name}`;
        const answer = await groups.send({ method: 'DELETE', path: at, accept: [404] }, signal);
        if (answer.status !== 404) refuseUnlessDone(answer, at);
        unsettled.delete(keyOf(place));
      });
    },

    async *list(signal) {
      for (const group of config.exclusive) {
        const name = await findGroup(group, signal);
        if (name === null) continue;
        const at = `/v1/${name}/memberships`;
        const first = { method: 'GET' as const, path: at, query: { view: 'FULL', pageSize: 500 } };
        const parse = (body: unknown) => parseAnswer(pageSchema, body, asked(at));
        const next = nextByCursor('pageToken', (body) => parse(body).nextPageToken);
        for await (const { body } of readPages(groups, first, next, signal)) {
          const people = (parse(body).memberships ?? []).filter(({ type = 'USER' }) => type === 'USER');
          for (let from = 0; from < people.length; from += together) {
            const found = people.slice(from, from + together).map(async ({ preferredMemberKey }) => {
              const identity = preferredMemberKey?.id ?? '';
              return { identity, user: await findUser(identity, signal) };
            });
            for (const { identity, user } of await Promise.all(found)) {
              if (!user) continue;
              yield { id: '', identity, access: { group }, pin: { target, subject: { user: user.id, group: name } } };
            }
          }
        }
      }
    },
  };
}
