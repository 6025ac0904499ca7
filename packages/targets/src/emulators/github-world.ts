/** What a test does at GitHub, without the API. Users and teams are named as they were at the start. */
export interface GithubWorld {
  /** Gives a person another login; the old one is free from then on. */
  renameUser(login: string, to: string): void;
  /** Gives a team another slug. */
  renameTeam(slug: string, to: string): void;
  /** Deletes an account, and with it all that it has. */
  deleteUser(login: string): void;
  /** Has an identity provider fill the team: by team synchronization, an external group, or LDAP. */
  fill(slug: string, by: 'sync' | 'external' | 'ldap'): void;
  /** Puts a team below another one: its members are members of both. */
  nest(child: string, parent: string): void;
  /** Takes a person out of the organization, and so out of its teams and repositories. */
  leave(login: string): void;
  /** Invites a person to the organization and to a team. */
  invite(login: string, team: string): void;
  /** Has an account that GitHub has flagged: it cannot be read, and keeps what it has. */
  hideUser(login: string): void;
  invitations(): string[];
  /** Takes the repository out of the App's installation, or back in. */
  hide(repository: string, hidden?: boolean): void;
  suspend(suspended?: boolean): void;
  /** Ends all tokens of the installation at once. */
  endTokens(): void;
  /** What the App may do from now on. */
  permit(permissions: Record<string, string>): void;
  addOrganizationRole(role: { name: string; permissions?: string[]; base_role?: string | null }): number;
  /** Everything that is held beside the organization itself: to compare before and after. */
  direct(): string[];
  /** Gives or takes a direct permission or an organization role, as an owner does on the pages. */
  setDirect(repository: string, login: string, permission: string | null): void;
  /** Puts at most so many on a page, however many a request names; 100 otherwise. */
  limitPages(size: number): void;
  setRole(role: string, login: string, held: boolean): void;
}

interface OrganizationRole {
  id: number;
  name: string;
  description: string;
  permissions: string[];
  base_role: string | null;
}

/** What GitHub has beside the emulator. Users, teams and repositories are named as they were at the start. */
export interface GithubState {
  /** New logins and slugs by the old ones. */
  logins: Map<string, string>;
  slugs: Map<string, string>;
  deleted: Set<string>;
  flagged: Set<string>;
  left: Set<string>;
  filled: Map<string, string>;
  /** The parent of a child team. */
  parents: Map<string, string>;
  hidden: Set<string>;
  tokens: Map<string, { until: number; permissions: Record<string, string> }>;
  /** Invitations to teams: `<team> <login>`. */
  pending: Set<string>;
  /** Direct permissions: `<number of the repository> <login>`. */
  direct: Map<string, string>;
  repositoryInvitations: Map<number, { repository: string; login: string; permission: string }>;
  roles: OrganizationRole[];
  /** Who has an organization role: `<role> <login>`. */
  holders: Set<string>;
  suspended: boolean;
  /** How many things a page has at most, however many a request names. */
  largestPage: number;
  permitted: Record<string, string> | undefined;
  /** The last number that was given to a role or an invitation. */
  made: number;
}

/** Creates the state of an organization at its start, and what a test can do to it. */
export function createWorld(): { state: GithubState; world: GithubWorld } {
  const state: GithubState = {
    logins: new Map(),
    slugs: new Map(),
    deleted: new Set(),
    flagged: new Set(),
    left: new Set(),
    filled: new Map(),
    parents: new Map(),
    hidden: new Set(),
    tokens: new Map(),
    pending: new Set(),
    direct: new Map(),
    repositoryInvitations: new Map(),
    roles: [],
    holders: new Set(),
    suspended: false,
    largestPage: 100,
    permitted: undefined,
    made: 0,
  };
  const { logins, slugs, deleted, left, filled, parents, hidden, tokens, pending } = state;
  const { direct, repositoryInvitations, roles, holders } = state;
  const world: GithubWorld = {
    renameUser: (login, to) => void logins.set(login, to),
    renameTeam: (slug, to) => void slugs.set(slug, to),
    deleteUser(login) {
      deleted.add(login);
      world.leave(login);
    },
    fill: (slug, by) => void filled.set(slug, by),
    nest: (child, parent) => void parents.set(child, parent),
    leave(login) {
      left.add(login);
      for (const key of [...direct.keys()]) if (key.endsWith(` ${login}`)) direct.delete(key);
      for (const key of [...holders]) if (key.endsWith(` ${login}`)) holders.delete(key);
    },
    invite: (login, team) => void pending.add(`${team} ${login}`),
    hideUser: (login) => void state.flagged.add(login),
    invitations: () => [
      ...pending,
      ...[...repositoryInvitations.values()].map((one) => `${one.repository} ${one.login}`),
    ],
    hide: (repository, away = true) => void (away ? hidden.add(repository) : hidden.delete(repository)),
    suspend(on = true) {
      state.suspended = on;
    },
    endTokens: () => tokens.clear(),
    permit(permissions) {
      state.permitted = permissions;
    },
    addOrganizationRole({ name, permissions = [], base_role = null }) {
      state.made += 1;
      roles.push({ id: state.made, name, description: '', permissions, base_role });
      return state.made;
    },
    direct: () => [...[...direct].map(([key, permission]) => `${key} ${permission}`), ...holders].sort(),
    limitPages(size) {
      state.largestPage = size;
    },
    setDirect(repository, login, permission) {
      if (permission === null) direct.delete(`${repository} ${login}`);
      else direct.set(`${repository} ${login}`, permission);
    },
    setRole(role, login, held) {
      if (held) holders.add(`${role} ${login}`);
      else holders.delete(`${role} ${login}`);
    },
  };
  return { state, world };
}
