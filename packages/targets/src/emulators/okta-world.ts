import { createPublicKey, verify } from 'node:crypto';
import type { Act, Exchange, Reply } from '../front/front.js';

/** The changes that a test can make at Okta beside the connector, and the state that no API of the emulator shows. */
export interface OktaWorld {
  /** Creates a rule that fills groups with users from now on. Returns its identifier. */
  fill(groups: readonly string[], users?: readonly string[]): Promise<string>;
  /** Returns the users that an edit by the API has permanently excluded from a rule, as `<rule> <user>`. */
  excluded(): string[];
  /** Makes an application fill a group from now on: the API may not change its members. */
  importGroup(group: string): void;
  /** Gives a group an administrator's role. */
  makeAdministrators(group: string): void;
  /** Returns how many times the sessions of a user were ended. */
  sessionsEnded(user: string): number;
  /** Sets the scopes of the service app, which has all of them at first, and ends its tokens. */
  grantScopes(scopes: readonly string[]): void;
  /** Sets what the admin role of the service app permits: `groups`, `rules`, `roles`, `users`. */
  permit(kinds: readonly string[]): void;
  /** Removes a group from the admin role of the service app: for the app, the group does not exist. */
  hide(group: string): void;
  /** Ends all access tokens. */
  endTokens(): void;
  /** Requires DPoP of the service app. */
  requireProof(): void;
}

interface Rule {
  id: string;
  groups: readonly string[];
  users: readonly string[];
}

type Item = Record<string, unknown> & { id: string };

const whole = ['okta.groups.manage', 'okta.users.manage', 'okta.users.read', 'okta.roles.read'];
const administrator = 'SSWS admin';

/**
 * Creates an act for what the emulator of Okta lacks or gets wrong: service apps with signed assertions, scopes and admin roles,
 * searches, pages by `after`, group rules and their exclusions, administrators' roles, sessions, and groups that the API may not
 * change.
 */
export function completeOkta({ clientId, publicKey, now }: { clientId: string; publicKey: string; now(): number }) {
  const rules: Rule[] = [];
  const exclusions = new Set<string>();
  const administrators = new Set<string>();
  const imported = new Set<string>();
  const hidden = new Set<string>();
  const ended = new Map<string, number>();
  const tokens = new Map<string, { until: number; scopes: string[] }>();
  let scopes: readonly string[] = whole;
  let permitted: readonly string[] = ['groups', 'rules', 'roles', 'users'];
  let proof = false;
  let made = 0;
  /** Whole lists of the emulator by their paths. They are valid until a request that may change something begins or ends. */
  const lists = new Map<string, { changes: number; items: readonly Item[] }>();
  let changes = 0;
  let call: (method: string, path: string) => Promise<unknown> = async () => undefined;

  function answerToken({ request }: Exchange): Reply {
    const form = new URLSearchParams(request.body);
    if (!isOurs(form.get('client_assertion') ?? '')) return refuse(401, 'invalid_client');
    if (proof) return refuse(400, 'invalid_dpop_proof');
    const wanted = (form.get('scope') ?? '').split(' ');
    if (!wanted.every((scope) => scopes.includes(scope))) return refuse(400, 'invalid_scope');
    made += 1;
    tokens.set(`token-${made}`, { until: now() + 3_600_000, scopes: wanted });
    const body = { token_type: 'Bearer', expires_in: 3600, access_token: `token-${made}`, scope: wanted.join(' ') };
    return { status: 200, body };
  }

  function isOurs(assertion: string): boolean {
    const [header = '', payload = '', signature = ''] = assertion.split('.');
    const { iss, sub, aud, exp } = decode(payload);
    const signed = verify(
      'sha256',
      Buffer.from(`${header}.${payload}`),
      createPublicKey(publicKey),
      Buffer.from(signature, 'base64url'),
    );
    const seconds = now() / 1000;
    const inTime = Number(exp) > seconds && Number(exp) <= seconds + 3600;
    return signed && inTime && iss === clientId && sub === clientId && String(aud).endsWith('/oauth2/v1/token');
  }

  /**
   * Returns the error of a call whose token is not valid, or that its scopes or the admin role do not permit, before
   * anything is read.
   */
  function judge(method: string, pathname: string, token: string): Reply | undefined {
    const held = tokens.get(token);
    if (!held || held.until <= now()) return fault(401, 'E0000011', 'Invalid token provided');
    const { kind, scope } = neededFor(method, pathname);
    const isCovered = held.scopes.some((one) => one === scope || one === scope.replace('.read', '.manage'));
    return isCovered && permitted.includes(kind) ? undefined : fault(403, 'E0000006', 'You do not have permission');
  }

  async function answerManagement(exchange: Exchange): Promise<Reply> {
    const { method, path } = exchange.request;
    const url = new URL(path, 'http://127.0.0.1');
    const [, , , kind = '', id = '', part = '', member = ''] = url.pathname.split('/').map(decodeURIComponent);
    if (kind === 'groups' && id === 'rules') return page(rules.map(showRule), url);
    if (kind === 'groups' && hidden.has(id)) return fault(404, 'E0000007', 'Not found');
    if (kind === 'groups' && part === 'roles') {
      return { status: 200, body: administrators.has(id) ? [{ id: 'ra1', type: 'APP_ADMIN' }] : [] };
    }
    if (kind === 'users' && part === 'sessions') return endSessions(exchange, id);
    if (method === 'GET' && (id === '' || part !== '')) return answerList(exchange, url);
    if (part === 'users' && member !== '') return changeMember(exchange, id, member);
    const found = await forward(exchange);
    return found.status === 200 ? { ...found, body: show(JSON.parse(String(found.body)) as Item) } : found;
  }

  /** Shows the groups that an application fills, since the emulator has only groups of Okta and built-in ones. */
  const show = (item: Item): Item => (imported.has(item.id) ? { ...item, type: 'APP_GROUP' } : item);

  async function endSessions(exchange: Exchange, id: string): Promise<Reply> {
    const found = await ask(exchange, `/api/v1/users/${encodeURIComponent(id)}`);
    if (found.status !== 200) return found;
    ended.set(id, (ended.get(id) ?? 0) + 1);
    return { status: 204 };
  }

  async function answerList(exchange: Exchange, url: URL): Promise<Reply> {
    const query = url.searchParams.get('search') ?? url.searchParams.get('filter');
    const all = await readList(exchange, url.pathname);
    if (!Array.isArray(all)) return all;
    const shown = all.filter(({ id }) => !hidden.has(id)).map(show);
    return page(query === null ? shown : shown.filter((item) => isFound(item, query)), url);
  }

  async function readList(exchange: Exchange, pathname: string): Promise<Item[] | Reply> {
    const known = lists.get(pathname);
    if (known?.changes === changes) return [...known.items];
    const begun = changes;
    const all: Item[] = [];
    for (let number = 1; ; number += 1) {
      const found = await ask(exchange, `${pathname}?per_page=100&page=${number}`);
      if (found.status !== 200) return found;
      const items = JSON.parse(String(found.body)) as Item[];
      all.push(...items);
      // The members of a group and the groups of a user have no pages.
      if (items.length !== 100 || !/\/(groups|users)$/.test(pathname) || pathname.split('/').length > 4) break;
    }
    if (begun === changes) lists.set(pathname, { changes, items: all });
    return all;
  }

  async function changeMember(exchange: Exchange, group: string, user: string): Promise<Reply> {
    const found = await ask(exchange, `/api/v1/groups/${encodeURIComponent(group)}`);
    if (found.status !== 200) return found;
    const { type } = show(JSON.parse(String(found.body)) as Item);
    if (type !== 'OKTA_GROUP') return fault(501, 'E0000060', 'Unsupported operation');
    const reply = await forward(exchange);
    if (exchange.request.method === 'DELETE' && reply.status === 204) {
      for (const rule of rules) {
        if (rule.groups.includes(group) && rule.users.includes(user)) exclusions.add(`${rule.id} ${user}`);
      }
    }
    return reply;
  }

  async function answer(exchange: Exchange): Promise<Reply> {
    const { method, path, headers } = exchange.request;
    const { pathname } = new URL(path, 'http://127.0.0.1');
    const [scheme = '', token = ''] = (headers.authorization ?? '').split(' ');
    if (pathname === '/.well-known/okta-organization')
      return { status: 200, body: { id: '00o1belay', pipeline: 'idx' } };
    if (pathname === '/oauth2/v1/token') return method === 'POST' ? answerToken(exchange) : fault(405, 'E0000022', '');
    // Calls of the administrator, and the pages for people, go to the emulator unchanged.
    if (`${scheme} ${token}` === administrator || !pathname.startsWith('/api/')) return exchange.forward();
    if (scheme !== 'Bearer') return fault(401, 'E0000011', 'Invalid token provided');
    return judge(method, pathname, token) ?? answerManagement(exchange);
  }

  const complete: Act = {
    name: 'complete Okta',
    async run(exchange) {
      if (exchange.request.method === 'GET') return answer(exchange);
      changes += 1;
      try {
        return await answer(exchange);
      } finally {
        changes += 1;
      }
    },
  };

  const world: OktaWorld = {
    async fill(groups, users = []) {
      made += 1;
      rules.push({ id: `0pr${made}`, groups, users });
      for (const group of groups) for (const user of users) await call('PUT', `/api/v1/groups/${group}/users/${user}`);
      return `0pr${made}`;
    },
    excluded: () => [...exclusions],
    importGroup: (group) => void imported.add(group),
    makeAdministrators: (group) => void administrators.add(group),
    sessionsEnded: (user) => ended.get(user) ?? 0,
    grantScopes(some) {
      scopes = some;
      tokens.clear();
    },
    permit(kinds) {
      permitted = kinds;
    },
    hide: (group) => void hidden.add(group),
    endTokens: () => tokens.clear(),
    requireProof() {
      proof = true;
    },
  };
  return {
    complete,
    world,
    /** Sets the function that calls the emulator as its administrator. */
    connect(how: typeof call) {
      call = how;
    },
  };
}

function neededFor(method: string, pathname: string): { kind: string; scope: string } {
  if (/\/groups\/rules/.test(pathname)) return { kind: 'rules', scope: 'okta.groups.read' };
  if (/\/groups\/[^/]+\/roles$/.test(pathname)) return { kind: 'roles', scope: 'okta.roles.read' };
  const change = method === 'GET' ? 'read' : 'manage';
  return pathname.startsWith('/api/v1/groups')
    ? { kind: 'groups', scope: `okta.groups.${change}` }
    : { kind: 'users', scope: `okta.users.${change}` };
}

const showRule = ({ id, groups }: Rule) => ({
  id,
  type: 'group_rule',
  status: 'ACTIVE',
  actions: { assignUserToGroups: { groupIds: groups } },
});

/** Returns a page as Okta does: the items after `after`, at most `limit`, with a link to the next page. */
function page(items: readonly { id: string }[], url: URL): Reply {
  const after = url.searchParams.get('after');
  const limit = Math.min(Number(url.searchParams.get('limit') ?? 50), 200);
  const start = after === null ? 0 : items.findIndex(({ id }) => id === after) + 1;
  const body = items.slice(start, start + limit);
  const self = new URL(url);
  const links = [`<${self.pathname}${self.search}>; rel="self"`];
  if (start + limit < items.length) {
    self.searchParams.set('after', body.at(-1)?.id ?? '');
    links.push(`<${self.pathname}${self.search}>; rel="next"`);
  }
  return { status: 200, headers: { link: links.join(', ') }, body };
}

/** Returns whether a query of the connector finds an item: conditions with `eq` and `sw`, joined by `or`. Okta ignores case. */
function isFound(item: Item, query: string): boolean {
  const conditions = [...query.matchAll(/([\w.]+) (eq|sw) "((?:[^"\\]|\\.)*)"/g)];
  return conditions.some(([, property = '', operator, quoted = '']) => {
    const found = property.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], item);
    const [value, wanted] = [String(found ?? ''), quoted.replace(/\\(.)/g, '$1')].map((text) => text.toLowerCase());
    return operator === 'eq' ? value === wanted : value?.startsWith(wanted ?? '');
  });
}

function forward(exchange: Exchange): Promise<Reply> {
  const { request } = exchange;
  return exchange.forward({ ...request, headers: { ...request.headers, authorization: administrator } });
}

function ask(exchange: Exchange, path: string): Promise<Reply> {
  const headers = { authorization: administrator };
  return exchange.forward({ method: 'GET', path, headers, body: '' });
}

function decode(part: string): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const refuse = (status: number, error: string): Reply => ({ status, body: { error, error_description: 'refused' } });

const fault = (status: number, errorCode: string, errorSummary: string): Reply => ({
  status,
  body: { errorCode, errorSummary, errorId: 'oae1' },
});
