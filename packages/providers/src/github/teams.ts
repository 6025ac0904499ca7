import { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';
import { path } from '../http/client.js';
import type { Api } from './api.js';
import { type Account, accountSchema, type People } from './people.js';
import type { Place } from './place.js';

const teamSchema = z.object({ id: z.int(), ldap_dn: z.string().nullish(), type: z.string().nullish() });
const membershipSchema = z.object({ state: z.string(), role: z.string() });
const groupsSchema = z.object({ groups: z.array(z.unknown()) });
const invitationSchema = z.object({ id: z.int(), login: z.string().nullable() });

/** Creates the part that grants memberships of teams. */
export function createTeams(api: Api, people: People): Place {
  const pathOf = async (team: number, signal: AbortSignal) => (await api.organization(signal)).at + path`/team/${team}`;

  const readTeam = async (team: number, signal: AbortSignal) =>
    api.find({ method: 'GET', path: await pathOf(team, signal), schema: teamSchema }, signal);

  async function readMembers(team: number, signal: AbortSignal): Promise<Account[]> {
    const members = await api.list(`${await pathOf(team, signal)}/members`, accountSchema, signal);
    if (members === null) await api.confirmSight('members', signal);
    return members ?? [];
  }

  async function readMembership(team: number, { login }: Account, signal: AbortSignal) {
    const at = (await pathOf(team, signal)) + path`/memberships/${login}`;
    return api.find({ method: 'GET', path: at, schema: membershipSchema }, signal);
  }

  /** Finds a member by number: a person whose account cannot be read, or whose login has changed, is still a member. */
  const findMember = async (team: number, user: number, signal: AbortSignal) =>
    (await readMembers(team, signal)).find(({ id }) => id === user);

  async function remove(team: number, { login }: Account, signal: AbortSignal): Promise<void> {
    const at = (await pathOf(team, signal)) + path`/memberships/${login}`;
    await api.send({ method: 'DELETE', path: at, accept: [404] }, signal);
  }

  /** Throws `Terminal` for a team that does not exist, whose members are managed elsewhere, or that has child teams. */
  async function refuse(team: number, signal: AbortSignal): Promise<void> {
    const found = await readTeam(team, signal);
    if (!found) throw new Terminal('The team does not exist in the organization');
    const at = await pathOf(team, signal);
    if (found.ldap_dn || found.type === 'enterprise') throw filledElsewhere();
    for (const groups of ['/team-sync/group-mappings', '/external-groups']) {
      const answer = await api.send({ method: 'GET', path: at + groups, accept: [403, 404, 422] }, signal);
      const mapped = groupsSchema.safeParse(answer.body);
      if (answer.status === 200 && (!mapped.success || mapped.data.groups.length > 0)) throw filledElsewhere();
    }
    const children = await api.list(`${at}/teams`, z.object({ id: z.int() }), signal);
    if (children && children.length > 0) {
      throw new Terminal('The team has child teams, and GitHub does not distinguish their members from its own');
    }
  }

  /** Removes the invitation that GitHub sent because the person left the organization at the same time. */
  async function withdrawInvitation(team: number, account: Account, signal: AbortSignal): Promise<void> {
    await remove(team, account, signal);
    const { at } = await api.organization(signal);
    const open = (await api.list(`${at}/invitations`, invitationSchema, signal)) ?? [];
    for (const { id } of open.filter(({ login }) => login === account.login)) {
      await api.send({ method: 'DELETE', path: at + path`/invitations/${id}`, accept: [404] }, signal);
    }
  }

  return {
    async find(slug, signal) {
      const { at } = await api.organization(signal);
      const team = await api.find({ method: 'GET', path: at + path`/teams/${slug}`, schema: teamSchema }, signal);
      if (!team) await api.confirmSight('members', signal);
      return team?.id ?? null;
    },

    async holds(team, user, signal) {
      const account = await people.read(user, signal);
      if (!account) return (await findMember(team, user, signal)) !== undefined;
      if ((await readMembership(team, account, signal))?.state === 'active') return true;
      if (!(await readTeam(team, signal))) await api.confirmSight('members', signal);
      await people.confirmLogin(account, signal);
      return false;
    },

    async grant(team, user, _target, signal) {
      await refuse(team, signal);
      const account = await people.requireMember(user, signal);
      // Not only to save a call: a second call would make a maintainer a plain member.
      if ((await readMembership(team, account, signal))?.state === 'active') return;
      const at = (await pathOf(team, signal)) + path`/memberships/${account.login}`;
      const call = { method: 'PUT' as const, path: at, json: { role: 'member' }, schema: membershipSchema };
      const { state } = await api.ask(call, signal);
      if (state !== 'active') {
        await withdrawInvitation(team, account, signal);
        throw new Terminal('The GitHub account is not an active member of the organization');
      }
      await people.confirmLogin(account, signal).catch(async (error) => {
        await remove(team, account, signal);
        throw error;
      });
    },

    async revoke(team, user, signal) {
      const account = await people.read(user, signal);
      if (account) await remove(team, account, signal);
      const listed = await findMember(team, user, signal);
      if (!listed) return;
      await remove(team, listed, signal);
      if (await findMember(team, user, signal)) {
        throw new Retryable('The person is still a member of the team, perhaps by a child team');
      }
    },

    members: readMembers,
  };
}

function filledElsewhere(): Terminal {
  return new Terminal('An identity provider manages the members of the team, and would remove those that Belay adds');
}
