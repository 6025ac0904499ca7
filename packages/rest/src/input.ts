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
  /** Whether JSON is all that is read: what a page of another origin cannot send without being asked about it first. */
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

/** What our own forms have beside their fields: the token of the login and the address, and a key that is good once. */
const csrfField = 'csrf_token';
const onceField = 'idempotency_key';
/** Says whom the form was shown to, which the host reads when they have no login any more. */
const shownField = 'shown_to';

/** The form of a confirmation page has these and nothing else: what is confirmed is in the address. */
function isConfirmation(text: string): boolean {
  return text !== '' && [...new URLSearchParams(text).keys()].every((name) => name === csrfField || name === onceField);
}

/**
 * A form that a cookie authenticates must be one of our own pages, made for this login and this address. Throws 403.
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

/** The fields of a form of our own pages that was not accepted, and whom it says it was shown to. */
export interface UnsentInput {
  fields: Record<string, unknown>;
  shownTo: unknown;
}

/** A form of our own that was shown with another login than the one that sends it. */
export class OtherLogin extends Refusal {
  constructor(readonly unsent: UnsentInput) {
    super(403, { message: 'The form belongs to another login; open its page again', code: publishedCodes[403] });
  }
}

/** Reads the form of a caller who has no login, of which nothing is accepted. Throws as `readInput` does. */
export async function readUnsent(source: Source, limits: InputLimits): Promise<UnsentInput> {
  const { fields } = await readInput(source, limits);
  const { shownTo } = takeOwnFields(fields);
  return { fields, shownTo };
}

/** A form that is sent twice, by a double click or a reload, is one request. */
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

/** No prototype, so that a key such as `__proto__` is a key like any other and is rejected as unknown. */
function emptyFields(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

function fromQuery(source: Source, operation: Operation): RequestInput {
  const fields = emptyFields();
  // A form of a browser sends what was left empty as well.
  const skipEmpty = source.context.request.accepts === 'html';
  parseFields(source.search, operation.kinds, fields, { skipEmpty });
  if (skipEmpty && operation.rest.shown !== undefined) fields.limit ??= operation.rest.shown;
  // What takes input has a schema that says the same of what it does not know.
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
    // The query counts when both are there .
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
 * A token has no spaces, so spaces around it were added on the way; a JSON string is the token in quotes, and a form
 * has it as its one field, unless a program sent the bare token as one (which is what `curl -d` does).
 */
function rawText(type: string | undefined, text: string, field: string): string {
  if (type?.startsWith('multipart/') === true) throw refuse(415, 'The body must be the token itself, as text/plain');
  const trimmed = text.trim();
  if (type === form && trimmed.startsWith(`${field}=`)) return new URLSearchParams(trimmed).get(field) ?? '';
  return type === 'application/json' ? trimmed.replace(/^"([^"\\]*)"$/, '$1') : trimmed;
}

/**
 * Returns the fields of a multipart form (RFC 7578) as an urlencoded one, so that both are read alike. `contentType` is the header,
 * with its boundary. Throws 400, for files too: nothing here takes one.
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
