import type { z } from 'zod';
import { isExpression } from '../document/check-expressions.js';
import type { authenticationSchema, endpointSchema, httpSchema } from '../document/definition.js';
import { evaluateValue, type Sight } from '../expression/evaluate.js';
import { Raised, standardFault } from '../fault.js';
import { isObject } from '../json.js';
import type { Run } from '../machine/run.js';
import type { Json, JsonObject } from '../types.js';

type Endpoint = z.infer<typeof endpointSchema>;

/**
 * Returns the request of a `call: http`: `{method, uri, headers?, query?, body?, output?, redirect?, authentication?}`,
 * evaluated, with the URI template expanded (DSL reference, "URI Template"). Throws `Raised` for a part of the wrong
 * type.
 */
export async function httpRequest(run: Run, given: JsonObject, sight: Sight): Promise<JsonObject> {
  const call = given as unknown as z.infer<typeof httpSchema>;
  const endpoint = call.endpoint ?? call.uri ?? '';
  const { uri, authentication } = typeof endpoint === 'string' ? { uri: endpoint } : (endpoint as unknown as Endpoint);
  const request: JsonObject = {
    method: asText(await evaluateValue(call.method, sight), 'method'),
    uri: isExpression(uri) ? asText(await evaluateValue(uri, sight), 'endpoint') : expandUri(uri, sight.input),
  };
  for (const name of ['headers', 'query'] as const) {
    const part = call[name];
    if (part === undefined) continue;
    const value = await evaluateValue(part, sight);
    if (!isObject(value)) throw failure(`${name} must be an object`);
    request[name] = value;
  }
  if (call.body !== undefined) request.body = await evaluateValue(call.body, sight);
  if (call.output !== undefined) request.output = call.output;
  if (call.redirect !== undefined) request.redirect = call.redirect;
  if (authentication !== undefined) request.authentication = await evaluateAuthentication(run, authentication, sight);
  return request;
}

async function evaluateAuthentication(run: Run, given: Json, sight: Sight): Promise<Json> {
  const policy = given as unknown as z.infer<typeof authenticationSchema>;
  const found = 'use' in policy ? run.workflow.use?.authentications?.[policy.use] : given;
  return await evaluateValue(found ?? null, sight);
}

/**
 * Replaces `{name}` with the input's property of that name, percent-encoded, or with nothing when there is no such
 * property.
 */
function expandUri(template: string, input: Json): string {
  return template.replace(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const value = isObject(input) && Object.hasOwn(input, name) ? input[name] : null;
    if (value === null || value === undefined) return '';
    if (typeof value === 'object') throw failure(`{${name}} of the endpoint must be a string, number or boolean`);
    return encodeUnreserved(String(value));
  });
}

/**
 * RFC 6570 §3.2.2: everything but letters, digits and `-._~` is encoded, so that a value cannot change the structure
 * of the URI.
 */
function encodeUnreserved(text: string): string {
  return encodeURIComponent(text.replace(/[\uD800-\uDFFF]/gu, '\uFFFD')).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function asText(value: Json, name: string): string {
  if (typeof value !== 'string') throw failure(`${name} must be a string`);
  return value;
}

function failure(detail: string): Raised {
  return new Raised(standardFault('expression', { detail }));
}
