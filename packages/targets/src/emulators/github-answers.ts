import type { Act, Exchange, Reply } from '../front/front.js';
import type { GithubState } from './github-world.js';

interface Found {
  id: number;
  login: string;
}

type Json = Record<string, unknown>;
type Asked = Reply & { json: Json };

/** Tokens for the calls of this file: the emulator permits 5,000 requests for each token, and the App's must not be used up. */
export const innerTokens = Array.from({ length: 20 }, (_, index) => `inner-${index}`);
const notFound: Reply = { status: 404, body: { message: 'Not Found' } };
const gone: Reply = { status: 204 };
const badCredentials: Reply = { status: 401, body: { message: 'Bad credentials' } };
const notPermitted: Reply = { status: 403, body: { message: 'Resource not accessible by integration' } };
const levels: Record<string, string> = {
  pull: 'read',
  triage: 'triage',
  push: 'write',
  maintain: 'maintain',
  admin: 'admin',
};

/**
 * Creates an act for what `emulate` lacks of GitHub: paths by numeric identifiers, 401 for invalid tokens, invitations, teams that
 * an identity provider fills, child teams, direct collaborators, organization roles, renamed logins, and the permissions of an App.
 * It follows GitHub's documentation; it does not prove that GitHub behaves in the same way.
 */
export function completeGithub(state: GithubState, now: () => number): Act {
  const { logins, slugs, deleted, left, filled, parents, hidden, tokens, pending } = state;
  const { direct, repositoryInvitations, roles, holders } = state;
  let asked = 0;

  /** Returns a login as the emulator has it; undefined for the old login of a renamed user, and for a deleted user. */
  const realLogin = (shown: string) => {
    const renamed = [...logins].find(([, to]) => to === shown)?.[0];
    const real = renamed ?? (logins.has(shown) ? undefined : shown);
    return real === undefined || deleted.has(real) ? undefined : real;
  };
  const realSlug = (shown: string) =>
    [...slugs].find(([, to]) => to === shown)?.[0] ?? (slugs.has(shown) ? undefined : shown);

  /** Replaces the logins and slugs of the emulator by the current ones. */
  const show = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(show);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([name, inner]) => {
      if (name === 'login' && typeof inner === 'string') return [name, logins.get(inner) ?? inner];
      if (name === 'slug' && typeof inner === 'string') return [name, slugs.get(inner) ?? inner];
      return [name, show(inner)];
    });
    return Object.fromEntries(entries);
  };

  async function ask(exchange: Exchange, method: string, path: string, body?: unknown): Promise<Asked> {
    const text = body === undefined ? '' : JSON.stringify(body);
    asked += 1;
    const authorization = `Bearer ${innerTokens[asked % innerTokens.length]}`;
    const headersOfOwner = { authorization, 'content-type': 'application/json' };
    const reply = await exchange.forward({ method, path, headers: headersOfOwner, body: text });
    const given = String(reply.body ?? '');
    const json = given === '' ? {} : (JSON.parse(given) as Json);
    const { headers, status } = reply;
    return { status, ...(headers ? { headers } : {}), body: given === '' ? undefined : show(json), json };
  }

  async function findUser(exchange: Exchange, id: number): Promise<Found | undefined> {
    const { json } = await ask(exchange, 'GET', `/users?since=${id - 1}&per_page=1`);
    const [user] = json as unknown as Found[];
    return user?.id === id && !deleted.has(user.login) ? user : undefined;
  }

  async function findByLogin(exchange: Exchange, shown: string): Promise<Found | undefined> {
    const real = realLogin(shown);
    if (real === undefined) return undefined;
    const { status, json } = await ask(exchange, 'GET', `/users/${encodeURIComponent(real)}`);
    return status === 200 ? { id: Number(json.id), login: String(json.login) } : undefined;
  }

  async function isMember(exchange: Exchange, login: string): Promise<boolean> {
    if (left.has(login)) return false;
    return (await ask(exchange, 'GET', `/orgs/acme/memberships/${login}`)).status === 200;
  }

  function page(items: unknown[], url: URL): Reply {
    const size = Math.min(state.largestPage, Number(url.searchParams.get('per_page') ?? 30));
    const number = Number(url.searchParams.get('page') ?? 1);
    const next = new URL(url);
    next.searchParams.set('page', String(number + 1));
    const more = items.length > size * number;
    return {
      status: 200,
      ...(more ? { headers: { link: `<${next.href}>; rel="next"` } } : {}),
      body: show(items.slice(size * (number - 1), size * number)),
    };
  }

  const shownUser = (user: Found) => ({ id: user.id, login: user.login, type: 'User' });

  async function users(exchange: Exchange, names: readonly string[]): Promise<Found[]> {
    const found = await Promise.all(names.map((name) => findByLogin(exchange, logins.get(name) ?? name)));
    return found.filter((user) => user !== undefined);
  }

  async function answerTeam(exchange: Exchange, team: Asked, rest: string, url: URL): Promise<Reply> {
    if (team.status !== 200) return notFound;
    const { method, body } = exchange.request;
    const slug = String(team.json.slug);
    const at = `/orgs/acme/teams/${encodeURIComponent(slug)}`;
    const by = filled.get(slug);
    if (rest === '') {
      if (method !== 'GET') return ask(exchange, method, at, JSON.parse(body || '{}'));
      const extra = by === 'ldap' ? { ldap_dn: 'cn=oncall,ou=groups,dc=example,dc=com' } : {};
      return { status: 200, body: { ...(team.body as Json), ...extra } };
    }
    if (rest === '/team-sync/group-mappings') {
      return { status: 200, body: { groups: by === 'sync' ? [{ group_id: '1', group_name: 'on call' }] : [] } };
    }
    if (rest === '/external-groups') {
      return { status: 200, body: { groups: by === 'external' ? [{ group_id: 1, group_name: 'on call' }] : [] } };
    }
    const children = [...parents].filter(([, parent]) => parent === slug).map(([child]) => child);
    if (rest === '/teams') return page(await Promise.all(children.map((child) => teamOf(exchange, child))), url);
    if (rest === '/members') {
      const reply = await ask(exchange, 'GET', `${at}/members${url.search}`);
      return { ...reply, body: show((reply.json as unknown as Found[]).filter(({ login }) => !left.has(login))) };
    }
    const shown = /^\/memberships\/([^/]+)$/.exec(rest)?.[1];
    const user = shown === undefined ? undefined : await findByLogin(exchange, decodeURIComponent(shown));
    if (!user) return notFound;
    return answerMembership(exchange, { slug, at, user, children });
  }

  async function teamOf(exchange: Exchange, slug: string) {
    return (await ask(exchange, 'GET', `/orgs/acme/teams/${slug}`)).body;
  }

  async function answerMembership(
    exchange: Exchange,
    { slug, at, user, children }: { slug: string; at: string; user: Found; children: string[] },
  ): Promise<Reply> {
    const { method, body } = exchange.request;
    const own = `${at}/memberships/${user.login}`;
    const invitation = `${slug} ${user.login}`;
    if (method === 'GET') {
      if (pending.has(invitation)) return { status: 200, body: { state: 'pending', role: 'member' } };
      if (left.has(user.login)) return notFound;
      const reply = await ask(exchange, 'GET', own);
      if (reply.status === 200) return reply;
      for (const child of children) {
        const below = await ask(exchange, 'GET', `/orgs/acme/teams/${child}/memberships/${user.login}`);
        if (below.status === 200) return below;
      }
      return notFound;
    }
    if (filled.has(slug)) return { status: 403, body: { message: 'This team is managed by an identity provider' } };
    if (method === 'DELETE') {
      if (pending.delete(invitation)) return gone;
      return ask(exchange, 'DELETE', own);
    }
    if (!(await isMember(exchange, user.login))) {
      pending.add(invitation);
      return { status: 200, body: { state: 'pending', role: 'member' } };
    }
    return ask(exchange, 'PUT', own, JSON.parse(body || '{}'));
  }

  async function answerOrganization(exchange: Exchange, rest: string, url: URL): Promise<Reply> {
    const { method } = exchange.request;
    if (rest === '') {
      const found = await ask(exchange, 'GET', '/orgs/acme');
      return { status: found.status, body: { ...(found.body as Json), created_at: '2015-04-01T09:00:00Z' } };
    }
    if (rest === '/members' || rest === '/teams') {
      return ask(
        exchange,
        method,
        `/orgs/acme${rest}${url.search}`,
        method === 'GET' ? undefined : JSON.parse(exchange.request.body),
      );
    }
    if (rest === '/invitations') {
      const invited = [...new Set([...pending].map((one) => one.split(' ')[1] ?? ''))];
      return page(await users(exchange, invited), url);
    }
    const invited = /^\/invitations\/(\d+)$/.exec(rest)?.[1];
    if (invited !== undefined) {
      const user = await findUser(exchange, Number(invited));
      for (const one of [...pending]) if (one.endsWith(` ${user?.login}`)) pending.delete(one);
      return user ? gone : notFound;
    }
    const member = /^\/memberships\/([^/]+)$/.exec(rest)?.[1];
    if (member !== undefined) return answerOrganizationMember(exchange, decodeURIComponent(member));
    return answerRoles(exchange, rest, url);
  }

  async function answerOrganizationMember(exchange: Exchange, shown: string): Promise<Reply> {
    const user = await findByLogin(exchange, shown);
    if (!user) return notFound;
    const about = { user: show(shownUser(user)) };
    if ([...pending].some((one) => one.endsWith(` ${user.login}`))) {
      return { status: 200, body: { state: 'pending', role: 'member', ...about } };
    }
    if (left.has(user.login)) return notFound;
    const reply = await ask(exchange, 'GET', `/orgs/acme/memberships/${user.login}`);
    // The emulator treats the maintainer of any team as an owner.
    const role = user.login === 'admin' ? 'admin' : 'member';
    return reply.status === 200 ? { status: 200, body: { ...(reply.body as Json), role, ...about } } : reply;
  }

  async function answerRoles(exchange: Exchange, rest: string, url: URL): Promise<Reply> {
    const { method } = exchange.request;
    if (rest === '/organization-roles') return { status: 200, body: { total_count: roles.length, roles } };
    const [, id, list] = /^\/organization-roles\/(\d+)(\/users)?$/.exec(rest) ?? [];
    if (id !== undefined) {
      const role = roles.find((one) => one.id === Number(id));
      if (!role) return notFound;
      if (!list) return { status: 200, body: role };
      const names = [...holders].filter((one) => one.startsWith(`${id} `)).map((one) => one.split(' ')[1] ?? '');
      return page(
        (await users(exchange, names)).map((user) => ({ ...shownUser(user), assignment: 'direct' })),
        url,
      );
    }
    const [, shown = '', role] = /^\/organization-roles\/users\/([^/]+)\/(\d+)$/.exec(rest) ?? [];
    const user = await findByLogin(exchange, decodeURIComponent(shown));
    if (!user || !roles.some((one) => one.id === Number(role))) return notFound;
    if (method === 'DELETE') {
      holders.delete(`${role} ${user.login}`);
      return gone;
    }
    if (!(await isMember(exchange, user.login))) return { status: 422, body: { message: 'Validation Failed' } };
    holders.add(`${role} ${user.login}`);
    return gone;
  }

  async function answerRepository(exchange: Exchange, repository: Json, rest: string, url: URL): Promise<Reply> {
    const name = String(repository.full_name);
    if (hidden.has(name)) return notFound;
    const key = String(repository.id);
    if (rest === '') return { status: 200, body: show(repository) };
    if (rest === '/invitations') {
      const open = [...repositoryInvitations].filter(([, one]) => one.repository === key);
      const invitees = await Promise.all(
        open.map(async ([id, one]) => ({ id, invitee: (await users(exchange, [one.login]))[0] ?? null })),
      );
      return page(invitees, url);
    }
    const invitation = /^\/invitations\/(\d+)$/.exec(rest)?.[1];
    if (invitation !== undefined) return repositoryInvitations.delete(Number(invitation)) ? gone : notFound;
    if (rest === '/collaborators') {
      const own = page(
        [...direct.keys()].filter((one) => one.startsWith(`${key} `)),
        url,
      );
      const listed = (own.body as string[]).map(async (one) => {
        const [user] = await users(exchange, [one.split(' ')[1] ?? '']);
        const permission = direct.get(one) ?? '';
        return user && show({ ...shownUser(user), role_name: levels[permission] ?? permission });
      });
      return { ...own, body: (await Promise.all(listed)).filter((one) => one !== undefined) };
    }
    const shown = /^\/collaborators\/([^/]+)$/.exec(rest)?.[1];
    const user = shown === undefined ? undefined : await findByLogin(exchange, decodeURIComponent(shown));
    if (!user) return notFound;
    return answerCollaborator(exchange, { name, key, user });
  }

  async function answerCollaborator(
    exchange: Exchange,
    { name, key, user }: { name: string; key: string; user: Found },
  ): Promise<Reply> {
    const { method, body } = exchange.request;
    const at = `/repos/${name}/collaborators/${user.login}`;
    if (method === 'DELETE') {
      direct.delete(`${key} ${user.login}`);
      for (const [id, one] of repositoryInvitations) {
        if (one.repository === key && one.login === user.login) repositoryInvitations.delete(id);
      }
      return ask(exchange, 'DELETE', at);
    }
    const { permission = 'push' } = JSON.parse(body || '{}') as { permission?: string };
    if (!(permission in levels)) return { status: 422, body: { message: 'Validation Failed' } };
    if (!(await isMember(exchange, user.login))) {
      state.made += 1;
      repositoryInvitations.set(state.made, { repository: key, login: user.login, permission });
      return { status: 201, body: { id: state.made } };
    }
    direct.set(`${key} ${user.login}`, permission);
    await ask(exchange, 'PUT', at, { permission });
    return gone;
  }

  /** Returns the permission that the App needs for a request, with its level. */
  function needs(method: string, path: string): [string, string] | undefined {
    const change = method !== 'GET';
    if (/\/collaborators|\/repositories\/\d+\/invitations/.test(path))
      return ['administration', change ? 'write' : 'read'];
    if (/\/organization-roles(\/\d+)?$/.test(path)) return ['organization_custom_org_roles', 'read'];
    if (/\/(members|memberships|teams?|organization-roles|invitations)(\/|$)/.test(path)) {
      return ['members', change ? 'write' : 'read'];
    }
    return undefined;
  }

  function isPermitted(token: string, method: string, path: string): boolean {
    const [name, level] = needs(method, path) ?? [];
    if (name === undefined) return true;
    const given = (state.permitted ?? tokens.get(token)?.permissions)?.[name];
    return given === 'write' || given === level;
  }

  async function answerApp(exchange: Exchange): Promise<Reply> {
    const { method, path, headers } = exchange.request;
    const reply = await exchange.forward({ ...exchange.request, headers });
    if (reply.status >= 300) return reply;
    const body = JSON.parse(String(reply.body)) as Json;
    if (method !== 'POST') {
      const about = {
        suspended_at: state.suspended ? '2026-01-01T00:00:00Z' : null,
        repository_selection: hidden.size > 0 ? 'selected' : 'all',
      };
      return {
        ...reply,
        body: show({ ...body, ...(state.permitted ? { permissions: state.permitted } : {}), ...about }),
      };
    }
    if (!path.endsWith('/access_tokens')) return reply;
    if (state.suspended) return { status: 403, body: { message: 'This installation has been suspended' } };
    const permissions = state.permitted ?? (body.permissions as Record<string, string>);
    const until = now() + 3_600_000;
    tokens.set(String(body.token), { until, permissions });
    return {
      status: 201,
      headers: { date: new Date(now()).toUTCString() },
      body: { ...body, permissions, expires_at: new Date(until).toISOString() },
    };
  }

  async function answerInstallation(exchange: Exchange, token: string): Promise<Reply> {
    const { method, path, headers } = exchange.request;
    const url = new URL(path, `http://${headers.host}`);
    const { pathname } = url;
    if (state.suspended) return { status: 403, body: { message: 'This installation has been suspended' } };
    if (!isPermitted(token, method, pathname)) return notPermitted;
    const [, id] = /^\/user\/(\d+)$/.exec(pathname) ?? [];
    if (id !== undefined) {
      const user = await findUser(exchange, Number(id));
      return user && !state.flagged.has(user.login) ? { status: 200, body: show(shownUser(user)) } : notFound;
    }
    const [, login] = /^\/users\/([^/]+)$/.exec(pathname) ?? [];
    if (login !== undefined) {
      const user = await findByLogin(exchange, decodeURIComponent(login));
      return user ? { status: 200, body: show(shownUser(user)) } : notFound;
    }
    return (await answerOwned(exchange, url)) ?? notFound;
  }

  async function answerOwned(exchange: Exchange, url: URL): Promise<Reply | undefined> {
    const [, name, id, repository] =
      /^\/(?:repos\/([^/]+\/[^/]+)|repositories\/(\d+))(\/.*)?$/.exec(url.pathname) ?? [];
    if (name !== undefined || id !== undefined) {
      const found = await ask(exchange, 'GET', name === undefined ? `/repositories/${id}` : `/repos/${name}`);
      return found.status === 200 ? answerRepository(exchange, found.json, repository ?? '', url) : notFound;
    }
    const [, org, number, rest = ''] = /^\/(?:orgs\/([^/]+)|organizations\/(\d+))(\/.*)?$/.exec(url.pathname) ?? [];
    if (org === undefined && number === undefined) return undefined;
    const { json } = await ask(exchange, 'GET', '/orgs/acme');
    if (org === undefined ? Number(number) !== json.id : org !== 'acme') return notFound;
    const [, slug, team, below = ''] = /^\/(?:teams\/([^/]+)|team\/(\d+))(\/.*)?$/.exec(rest) ?? [];
    if (slug !== undefined) {
      const real = realSlug(decodeURIComponent(slug));
      if (real === undefined) return notFound;
      return answerTeam(
        exchange,
        await ask(exchange, 'GET', `/orgs/acme/teams/${encodeURIComponent(real)}`),
        below,
        url,
      );
    }
    if (team !== undefined) return answerTeam(exchange, await ask(exchange, 'GET', `/teams/${team}`), below, url);
    return answerOrganization(exchange, rest, url);
  }

  return {
    name: 'complete GitHub',
    async run(exchange) {
      const { path, headers } = exchange.request;
      const token = (headers.authorization ?? '').replace(/^(Bearer|token)\s+/i, '');
      if (path.startsWith('/app')) return answerApp(exchange);
      // Calls of people go to the emulator unchanged.
      if (token.startsWith('token-of-')) return exchange.forward();
      const held = tokens.get(token);
      if (!held || held.until <= now()) return badCredentials;
      return answerInstallation(exchange, token);
    },
  };
}
