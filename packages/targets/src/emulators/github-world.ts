/** The changes that a test can make at GitHub without the API. Users and teams are named as they were at the start. */
export interface GithubWorld {
  /** Gives a person another login; the old one is free from then on. */
  renameUser(login: string, to: string): void;
  /** Gives a team another slug. */
  renameTeam(slug: string, to: string): void;
  /** Deletes an account with all its access. */
  deleteUser(login: string): void;
  /** Makes an identity provider fill the team: by team synchronization, an external group, or LDAP. */
  fill(slug: string, by: 'sync' | 'external' | 'ldap'): void;
  /** Puts a team below another one: its members are members of both. */
  nest(child: string, parent: string): void;
  /** Removes a person from the organization, and so from its teams and repositories. */
  leave(login: string): void;
  /** Invites a person to the organization and to a team. */
  invite(login: string, team: string): void;
  /** Makes GitHub flag an account: it cannot be read, and keeps its access. */
  hideUser(login: string): void;
  invitations(): string[];
  /** Removes the repository from the App's installation, or adds it again. */
  hide(repository: string, hidden?: boolean): void;
  suspend(suspended?: boolean): void;
  /** Ends all tokens of the installation at once. */
  endTokens(): void;
  /** Sets the permissions of the App from now on. */
  permit(permissions: Record<string, string>): void;
  addOrganizationRole(role: { name: string; permissions?: string[]; base_role?: string | null }): number;
  /** Returns all direct permissions and organization roles that are held: to compare before and after. */
  direct(): string[];
  /** Sets a direct permission, or removes it with null, as an owner does on the pages. */
  setDirect(repository: string, login: string, permission: string | null): void;
  /** Sets the most items on a page, even when a request names more; 100 unless set. */
  limitPages(size: number): void;
  /** Gives an organization role, or removes it, as an owner does on the pages. */
  setRole(role: string, login: string, held: boolean): void;
}

interface OrganizationRole {
  id: number;
  name: string;
  description: string;
  permissions: string[];
  base_role: string | null;
}

/** The state of GitHub that the emulator lacks. Users, teams and repositories are named as they were at the start. */
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
  /** The most items on a page, even when a request names more. */
  largestPage: number;
  permitted: Record<string, string> | undefined;
  /** The last number that was given to a role or an invitation. */
  made: number;
}

/** Creates the state of an organization at its start, and the changes that a test can make to it. */
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
