import type { IncomingMessage, ServerResponse } from 'node:http';
import { InexactNumber, parseExactly } from '@belay/contract/exact-json';
import {
  type Context,
  changeProvisionedGroup,
  changeProvisionedUser,
  createProvisionedGroup,
  createProvisionedUser,
  deleteProvisionedGroup,
  deleteProvisionedUser,
  type GroupFilter,
  getProvisionedGroup,
  getProvisionedUser,
  listProvisionedGroups,
  listProvisionedUsers,
  reportRefused,
  type UserFilter,
  verifyProvisioningToken,
} from '@belay/core';
import { bodyType, publishError, Refusal, readBody, send, stateOf } from '@belay/rest';
import { parse } from 'lossless-json';
import { describeService } from './discovery.js';
import { describeError, ScimError } from './errors.js';
import { type Body, fieldOf, toBody } from './fields.js';
import { type Equal, parseFilter } from './filter.js';
import { patchGroup, readGroup } from './group.js';
import { project, showGroup, showUser } from './show.js';
import { patchUser, readUser } from './user.js';

export interface ScimOptions {
  context: Context;
  /** The address that directories use, without a path. */
  origin: string;
  /** Called with every error whose status is 500 or higher. */
  failed(request: IncomingMessage, error: unknown): void;
}

export interface Scim {
  /** Responds to a request below /scim/v2. Never throws. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Responds to any request with an error. */
  fail(request: IncomingMessage, response: ServerResponse, error: unknown): void;
}

export const scimPath = '/scim/v2';

/** The largest body, in bytes: a group is sent with all its members. */
const bodyBytes = 1024 * 1024;
const page = { usual: 100, most: 200 };

interface Call {
  request: IncomingMessage;
  provider: string;
  query: URLSearchParams;
  /** The path after the name of the collection; empty for the collection itself. */
  id: string;
}

interface Answer {
  status: number;
  body?: object;
  location?: string;
}

/** Creates the handler of SCIM requests from directories (RFC 7644). */
export function createScim(options: ScimOptions): Scim {
  const { context, origin } = options;
  const base = `${origin}${scimPath}`;
  const described = describeService(base, page.most);

  function fail(request: IncomingMessage, response: ServerResponse, thrown: unknown): void {
    const error = toScimError(thrown);
    if (error.status >= 500) options.failed(request, thrown);
    if (response.headersSent) {
      if (!response.writableEnded) response.destroy();
      return;
    }
    if (error.status === 503) response.setHeader('Retry-After', '5');
    for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
    send(response, error.status, 'application/scim+json', JSON.stringify(describeError(error)));
  }

  return {
    fail,
    async answer(request, response) {
      try {
        const { status, body, location } = await route(request);
        if (location !== undefined) response.setHeader('Location', location);
        if (body === undefined) response.writeHead(status).end();
        else send(response, status, 'application/scim+json', JSON.stringify(body));
      } catch (error) {
        fail(request, response, error);
      }
    },
  };

  async function route(request: IncomingMessage): Promise<Answer> {
    const provider = await identify(context, request);
    const state = stateOf(request);
    state.user = `SCIM ${provider}`;
    const url = new URL(request.url ?? '/', 'http://localhost');
    const path = url.pathname.slice(scimPath.length).replace(/\/$/, '');
    const [, collection = '', ...rest] = path.split('/');
    state.route = `${scimPath}/${collection === 'Users' || collection === 'Groups' ? collection : ''}`;
    const call = { request, provider, query: url.searchParams, id: rest.join('/') };
    if (call.id === '.search' || path === '/.search') return answerSearch(context, base, call, collection);
    const resource = collection === 'Users' ? 'person' : 'group';
    const answer = collection === 'Users' ? answerUsers : answerGroups;
    if (collection === 'Users' || collection === 'Groups')
      return alarming(context, { ...call, resource }, () => answer(context, base, call));
    return describe(described, decode(path), call);
  }
}

async function identify(context: Context, request: IncomingMessage): Promise<string> {
  const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  const provider = await verifyProvisioningToken(context, { token });
  if (provider !== null) return provider;
  throw new ScimError(401, 'The token is missing, unknown, revoked or expired', undefined, {
    'WWW-Authenticate': `Bearer realm="belay-scim"${token === '' ? '' : ', error="invalid_token"'}`,
  });
}

function describe(described: ReadonlyMap<string, object[] | object>, path: string, call: Call): Answer {
  const found = described.get(path);
  if (found === undefined) throw new ScimError(404, 'There is nothing at this address');
  requireMethod(call, ['GET']);
  if (call.query.has('filter')) throw new ScimError(403, 'filter is not supported at this address');
  return { status: 200, body: Array.isArray(found) ? listed(found, found.length, 1) : found };
}

async function answerUsers(ctx: Context, base: string, call: Call): Promise<Answer> {
  const { provider, request, id } = call;
  const show = (user: Parameters<typeof showUser>[1]) => project(showUser(base, user), projectionOf(call));
  if (id === '') {
    requireMethod(call, ['GET', 'POST']);
    if (request.method === 'GET') {
      const range = pageOf(call);
      const { total, rows } = await listProvisionedUsers(ctx, provider, userFilterOf(call), range);
      return { status: 200, body: listed(rows.map(show), total, range.offset + 1) };
    }
    const created = await createProvisionedUser(ctx, provider, readUser(await readJson(request)));
    return { status: 201, body: show(created), location: `${base}/Users/${created.id}` };
  }
  requireMethod(call, ['GET', 'PUT', 'PATCH', 'DELETE']);
  if (request.method === 'GET') return { status: 200, body: show(await getProvisionedUser(ctx, provider, id)) };
  if (request.method === 'DELETE') {
    await deleteProvisionedUser(ctx, provider, id);
    return { status: 204 };
  }
  const change = request.method === 'PUT' ? readUser : patchUser;
  const body = await readJson(request);
  const changed = await changeProvisionedUser(ctx, provider, id, (current) => change(body, current));
  return { status: 200, body: show(changed) };
}

async function answerGroups(ctx: Context, base: string, call: Call): Promise<Answer> {
  const { provider, request, id } = call;
  const projection = projectionOf(call);
  const show = (group: Parameters<typeof showGroup>[1]) => project(showGroup(base, group), projection);
  // Entra looks groups up without their members, of which there may be thousands.
  const members = !projection.excluded.some((name) => name.toLowerCase() === 'members');
  if (id === '') {
    requireMethod(call, ['GET', 'POST']);
    if (request.method === 'GET') {
      const range = pageOf(call);
      const { total, rows } = await listProvisionedGroups(ctx, provider, groupFilterOf(call), range, members);
      return { status: 200, body: listed(rows.map(show), total, range.offset + 1) };
    }
    const created = await createProvisionedGroup(ctx, provider, readGroup(await readJson(request)));
    return { status: 201, body: show(created), location: `${base}/Groups/${created.id}` };
  }
  requireMethod(call, ['GET', 'PUT', 'PATCH', 'DELETE']);
  if (request.method === 'GET') {
    return { status: 200, body: show(await getProvisionedGroup(ctx, provider, id, members)) };
  }
  if (request.method === 'DELETE') {
    await deleteProvisionedGroup(ctx, provider, id);
    return { status: 204 };
  }
  const body = await readJson(request);
  const put = request.method === 'PUT';
  const changed = await changeProvisionedGroup(ctx, provider, id, (current) =>
    put ? readGroup(body) : patchGroup(body, current),
  );
  return { status: 200, body: show(changed) };
}

/** Lists the resources that a posted query selects (RFC 7644, 3.4.3): of one collection, or people first and groups after them. */
async function answerSearch(ctx: Context, base: string, call: Call, collection: string): Promise<Answer> {
  requireMethod(call, ['POST']);
  const body = await readJson(call.request);
  const query = new URLSearchParams();
  for (const name of ['filter', 'startIndex', 'count', 'attributes', 'excludedAttributes']) {
    const value = fieldOf(body, name);
    if (value === undefined || value === null) continue;
    if (!['string', 'number'].includes(typeof value) && !Array.isArray(value)) {
      throw new ScimError(400, `${name}: must be a string, a number or a list`, 'invalidValue');
    }
    query.set(name, String(value));
  }
  const asked = { ...call, query };
  const range = pageOf(asked);
  const projection = projectionOf(asked);
  if (!['Users', 'Groups', '.search'].includes(collection))
    throw new ScimError(404, 'There is nothing at this address');
  const none = { total: 0, rows: [] };
  const [noUsers, noGroups] =
    collection === '.search'
      ? [needsOther(asked, userFields, groupFields), needsOther(asked, groupFields, userFields)]
      : [collection === 'Groups', collection === 'Users'];
  const users = noUsers ? none : await listProvisionedUsers(ctx, call.provider, userFilterOf(asked), range);
  const rest = {
    offset: Math.max(0, range.offset - users.total),
    limit: range.limit - users.rows.length,
  };
  const groups = noGroups ? none : await listProvisionedGroups(ctx, call.provider, groupFilterOf(asked), rest);
  const found = [
    ...users.rows.map((user) => showUser(base, user)),
    ...groups.rows.map((group) => showGroup(base, group)),
  ].map((resource) => project(resource, projection));
  return { status: 200, body: listed(found, users.total + groups.total, range.offset + 1) };
}

/** Raises an alarm when a change is rejected because of its content: it may have been a deactivation, or the end of a membership. */
async function alarming<Result>(
  ctx: Context,
  call: Call & { resource: 'person' | 'group' },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const { status, message } = toScimError(thrown);
    const { provider, request, resource } = call;
    if (request.method !== 'GET' && [400, 409, 413, 415].includes(status)) {
      const requestId = stateOf(request).id;
      await reportRefused(ctx, { provider, id: call.id.slice(0, 100), resource, requestId, because: message });
    }
    throw thrown;
  }
}

async function readJson(request: IncomingMessage): Promise<Body> {
  const type = bodyType(request);
  if (type !== undefined && type !== 'application/scim+json' && type !== 'application/json') {
    throw new ScimError(415, 'A body must be application/scim+json');
  }
  const text = await readBody(request, bodyBytes);
  let parsed: unknown;
  try {
    // JSON.parse would use the last of two values with the same name, and could lose a deactivation before it.
    parsed = parse(text, undefined, { parseNumber: (number) => parseExactly(number) });
  } catch (error) {
    if (error instanceof InexactNumber) throw new ScimError(400, `The body ${error.message}`, 'invalidValue');
    throw new ScimError(400, 'The body is not JSON, or contains a name twice', 'invalidSyntax');
  }
  return toBody(parsed, 'The body');
}

function requireMethod({ request }: Call, allowed: string[]): void {
  if (allowed.includes(request.method ?? '')) return;
  throw new ScimError(405, `${request.method} is not allowed here`, undefined, { Allow: allowed.join(', ') });
}

function listed(resources: object[], total: number, startIndex: number): object {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}

function pageOf({ query }: Call): { offset: number; limit: number } {
  const start = Math.max(1, wholeOf(query.get('startIndex'), 'startIndex', 1));
  const limit = Math.min(Math.max(0, wholeOf(query.get('count'), 'count', page.usual)), page.most);
  return { offset: start - 1, limit };
}

function wholeOf(text: string | null, name: string, usual: number): number {
  if (text === null) return usual;
  if (!/^-?\d{1,9}$/.test(text)) throw new ScimError(400, `${name}: must be a whole number`, 'invalidValue');
  return Number(text);
}

function projectionOf({ query }: Call): { attributes: string[]; excluded: string[] } {
  const list = (name: string) =>
    query
      .get(name)
      ?.split(',')
      .filter((one) => one.trim() !== '') ?? [];
  return { attributes: list('attributes'), excluded: list('excludedAttributes') };
}

const userFields: Record<string, keyof UserFilter> = {
  id: 'id',
  username: 'userName',
  externalid: 'externalId',
  displayname: 'displayName',
  emails: 'email',
  'emails.value': 'email',
  'emails[type]': 'emailType',
  active: 'active',
};

function userFilterOf({ query }: Call): UserFilter {
  return filterOf(query.get('filter'), userFields);
}

const groupFields: Record<string, keyof GroupFilter> = {
  id: 'id',
  displayname: 'displayName',
  externalid: 'externalId',
  members: 'member',
  'members.value': 'member',
};

function groupFilterOf({ query }: Call): GroupFilter {
  return filterOf(query.get('filter'), groupFields);
}

function filterOf<Field extends string>(text: string | null, fields: Record<string, Field>): Record<string, never> {
  const found: Record<string, Equal['value']> = {};
  for (const { path: plain, value } of comparisonsOf(text).flatMap(ofOneType)) {
    const field = Object.hasOwn(fields, plain) ? fields[plain] : undefined;
    const wanted = field === 'active' ? 'boolean' : 'string';
    if (field === undefined || typeof value !== wanted || field in found || String(value).includes('\0')) {
      throw new ScimError(400, `filter: ${plain.slice(0, 100)} cannot be compared with this value`, 'invalidFilter');
    }
    found[field] = value;
  }
  return found as Record<string, never>;
}

/**
 * Returns the comparison of the addresses of one type, `emails[type eq "work"].value eq "…"`, as two: of the address and of its type.
 * Returns any other comparison unchanged.
 */
function ofOneType({ path, value }: Equal): Equal[] {
  const [, filter] = /^emails\[(.+)\](?:\.value)?$/.exec(path) ?? [];
  if (filter === undefined) return [{ path, value }];
  const [type, ...more] = parseFilter(filter);
  return type?.path === 'type' && more.length === 0
    ? [
        { path: 'emails', value },
        { path: 'emails[type]', value: type.value },
      ]
    : [{ path, value }];
}

/**
 * Returns whether a filter names an attribute that only the other kind of resource has. Then it matches no resource of this kind
 * (RFC 7644, 3.4.2.1).
 */
function needsOther({ query }: Call, own: Record<string, string>, other: Record<string, string>): boolean {
  return comparisonsOf(query.get('filter')).some(({ path }) => Object.hasOwn(other, path) && !Object.hasOwn(own, path));
}

/** Returns the comparisons of a filter; their paths do not name the schema. */
function comparisonsOf(text: string | null): Equal[] {
  if (text === null) return [];
  const schema = /^urn:ietf:params:scim:schemas:core:2\.0:(user|group):/;
  return parseFilter(text).map(({ path, value }) => ({ path: path.replace(schema, ''), value }));
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new ScimError(400, 'Malformed percent-encoding in the path');
  }
}

function toScimError(thrown: unknown): ScimError {
  if (thrown instanceof ScimError) return thrown;
  if (thrown instanceof Refusal) return new ScimError(thrown.status, thrown.body.message, undefined, thrown.headers);
  const { status, body, retryAfter } = publishError(thrown);
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  const type = status === 409 ? 'uniqueness' : status === 400 ? 'invalidValue' : undefined;
  return new ScimError(status, body.message, type, headers);
}
