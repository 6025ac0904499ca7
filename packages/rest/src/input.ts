import type { IncomingMessage } from 'node:http';
import { publishedCodes } from '@belay/contract/errors';
import { bodyType, parseJsonObject, readBody } from './body.js';
import { requireKey } from './describe-request.js';
import type { RestContext } from './exchange.js';
import { parseFields } from './fields.js';
import { Refusal, refuse, refuseField } from './refusal.js';
import type { Operation, Route } from './route-table.js';
import { isConfirmationToken } from './security.js';

export interface RequestInput {
  fields: Record<string, unknown>;
  /** True when this is the form of our own confirmation page, with its token. */
  confirmed: boolean;
  /** True when a form of one of our pages sent this. */
  ownForm: boolean;
}

export interface InputLimits {
  /** Largest body, in bytes. */
  bodyBytes: number;
  /** Whether only JSON is accepted: a browser sends it to another origin only after that origin has allowed it (CORS). */
  jsonOnly?: boolean | undefined;
}

interface Source {
  request: IncomingMessage;
  route: Route;
  operation: Operation;
  context: RestContext;
  parameters: Readonly<Record<string, string>>;
  search: string;
  address: string;
}

const form = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data';

/** Collects the input of a request from its path, query and body. Throws 400, 403, 405, 413 and 415. */
export async function readInput(source: Source, limits: InputLimits): Promise<RequestInput> {
  const { request, route, operation } = source;
  const sendsBody = request.method === 'POST' || request.method === 'PUT';
  if (!sendsBody || operation.rest.alsoPost === true) return fromQuery(source, operation);
  const given = bodyType(request);
  if (limits.jsonOnly === true && given !== 'application/json') throw refuse(415, 'The body must be application/json');
  const body = given === undefined ? '' : await readBody(request, limits.bodyBytes);
  const isMultipart = given === multipart && operation.contentTypes.includes(multipart);
  const type = isMultipart ? form : given;
  const text = isMultipart ? await toUrlencoded(request.headers['content-type'] ?? '', body) : body;
  if (route.confirmable !== undefined && type === form && isConfirmation(text)) {
    return confirmation(source, route.confirmable, text);
  }
  if (operation === route.confirmable) {
    throw refuse(405, 'POST is only accepted from the confirmation page', { Allow: route.allow });
  }
  const fields = emptyFields();
  readPostQuery(source, fields);
  readBodyInto(fields, operation, type, text);
  const ownForm = type === form && operation.rest.textBody === undefined && requireOwnForm(source, fields);
  return { fields: withParameters(source, fields), confirmed: false, ownForm };
}

/** The hidden fields of our own forms: a token that is bound to the login and the address, and an idempotency key. */
const csrfField = 'csrf_token';
const onceField = 'idempotency_key';
/** The hidden field that says to whom the form was shown; the host reads it when the login has ended. */
const shownField = 'shown_to';

/** Returns whether a form is that of a confirmation page: it has only hidden fields, because its input is in the address. */
function isConfirmation(text: string): boolean {
  return text !== '' && [...new URLSearchParams(text).keys()].every((name) => name === csrfField || name === onceField);
}

/**
 * Returns whether a form comes from one of our own pages. Throws 403 when a cookie authenticates a form that was not made for this
 * login and this address.
 */
function requireOwnForm({ operation, context, address }: Source, fields: Record<string, unknown>): boolean {
  if (!context.request.viaCookie || context.actor === null || operation.rest.public === true) return false;
  const { csrf, once, shownTo } = takeOwnFields(fields);
  if (context.token === null || !isConfirmationToken(csrf, context.token, address)) {
    throw new OtherLogin({ fields, shownTo });
  }
  useOnce(context, once);
  return true;
}

function takeOwnFields(fields: Record<string, unknown>) {
  const { [csrfField]: csrf, [onceField]: once, [shownField]: shownTo } = fields;
  for (const name of [csrfField, onceField, shownField]) delete fields[name];
  return { csrf, once, shownTo };
}

/** The fields of a rejected form of our own, and the person to whom it was shown, according to the form. */
export interface UnsentInput {
  fields: Record<string, unknown>;
  shownTo: unknown;
}

/** Thrown for a form of our own that was made for another login than the one that sends it. */
export class OtherLogin extends Refusal {
  constructor(readonly unsent: UnsentInput) {
    super(403, { message: 'The form belongs to another login; open its page again', code: publishedCodes[403] });
  }
}

/** Returns the form of a caller who has no login, to show it again; it is not accepted. Throws as `readInput` does. */
export async function readUnsent(source: Source, limits: InputLimits): Promise<UnsentInput> {
  const { fields } = await readInput(source, limits);
  const { shownTo } = takeOwnFields(fields);
  return { fields, shownTo };
}

/** Makes a form that is sent twice, by a double click or a reload, one request. */
function useOnce({ request }: RestContext, key: unknown): void {
  if (typeof key === 'string' && request.idempotencyKey === undefined) request.idempotencyKey = requireKey(key);
}

function confirmation(source: Source, operation: Operation, text: string): RequestInput {
  const { context, address } = source;
  const sent = new URLSearchParams(text);
  const given = sent.getAll(csrfField);
  const valid = given.length === 1 && context.token !== null && isConfirmationToken(given[0], context.token, address);
  if (!valid || !context.request.viaCookie)
    throw refuse(403, 'The confirmation belongs to another login or has expired');
  useOnce(context, sent.get(onceField) ?? undefined);
  return { ...fromQuery(source, operation), confirmed: true };
}

/** Returns an object without a prototype, so that a key such as `__proto__` is rejected as unknown like any other. */
function emptyFields(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

function fromQuery(source: Source, operation: Operation): RequestInput {
  const fields = emptyFields();
  // A browser sends the empty fields of a form as well.
  const skipEmpty = source.context.request.accepts === 'html';
  parseFields(source.search, operation.kinds, fields, { skipEmpty });
  if (skipEmpty && operation.rest.shown !== undefined) fields.limit ??= operation.rest.shown;
  // An operation with input has a schema, which rejects unknown fields itself.
  const [stray] = operation.input === undefined ? Object.keys(fields) : [];
  if (stray !== undefined) throw refuseField(stray, 'is not a known field');
  return { fields: withParameters(source, fields), confirmed: false, ownForm: false };
}

function withParameters({ parameters }: Source, fields: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(parameters)) {
    if (name in fields) throw refuseField(name, 'is already in the path');
    fields[name] = value;
  }
  return fields;
}

function readPostQuery({ search, operation }: Source, fields: Record<string, unknown>): void {
  parseFields(search, operation.kinds, fields);
  const allowed = new Set(operation.rest.query ?? []);
  const stray = Object.keys(fields).find((name) => !allowed.has(name));
  if (stray !== undefined) throw refuseField(stray, 'belongs in the body');
}

function readBodyInto(
  fields: Record<string, unknown>,
  operation: Operation,
  type: string | undefined,
  text: string,
): void {
  const { textBody, rawBody } = operation.rest;
  if (rawBody !== undefined) {
    if (type === undefined || !rawBody.types.includes(type)) {
      throw refuse(415, `The body must be ${rawBody.types.join(' or ')}`);
    }
    fields[rawBody.field] = text;
    return;
  }
  if (textBody !== undefined) {
    // The query takes precedence over the body.
    if (fields[textBody] === undefined && text !== '') fields[textBody] = rawText(type, text, textBody);
    return;
  }
  if (type === undefined) return;
  if (!operation.contentTypes.includes(type)) {
    throw refuse(415, `The body must be ${operation.contentTypes.join(' or ')}`);
  }
  if (type === form) {
    parseFields(text, operation.kinds, fields, { skipEmpty: true });
    return;
  }
  for (const [name, value] of Object.entries(parseJsonObject(text))) fields[name] = value;
}

/**
 * Returns the token in a body. Spaces around it are removed. A JSON string is the token in quotes. A form has the token in `field`,
 * unless the body is the bare token under the content type of a form, as `curl -d` sends it.
 */
function rawText(type: string | undefined, text: string, field: string): string {
  if (type?.startsWith('multipart/') === true) throw refuse(415, 'The body must be the token itself, as text/plain');
  const trimmed = text.trim();
  if (type === form && trimmed.startsWith(`${field}=`)) return new URLSearchParams(trimmed).get(field) ?? '';
  return type === 'application/json' ? trimmed.replace(/^"([^"\\]*)"$/, '$1') : trimmed;
}

/**
 * Returns a multipart form (RFC 7578) as an urlencoded one, so that both are read alike. `contentType` is the header, with its
 * boundary. Throws 400 when the body is not a form or has a file, which no operation accepts.
 */
async function toUrlencoded(contentType: string, body: string): Promise<string> {
  let form: FormData;
  try {
    form = await new Response(Buffer.from(body), { headers: { 'content-type': contentType } }).formData();
  } catch {
    throw refuse(400, 'The body is not a form');
  }
  const fields = new URLSearchParams();
  for (const [name, value] of form) {
    if (typeof value !== 'string') throw refuseField(name, 'must be text, not a file');
    fields.append(name, value);
  }
  return fields.toString();
}
