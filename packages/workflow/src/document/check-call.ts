import { isObject, pointerSegment } from '../json.js';
import type { Json } from '../types.js';
import { ARGUMENTS, checkValue, isExpression } from './check-expressions.js';
import { type Checking, checkReference, type Names } from './check-parts.js';
import { authenticationSchema, endpointSchema, httpSchema, type TaskOf } from './definition.js';

const PROTOCOLS = new Set(['openapi', 'grpc', 'asyncapi', 'a2a', 'mcp']);
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/.*/;

/** Checks a `call`: http, a function of the workflow, or one of the functions of the host. */
export function checkCall(checking: Checking, path: string, task: TaskOf<'call'>, names: Names): void {
  const { issues, use, functions } = checking;
  const name = task.call;
  if (PROTOCOLS.has(name)) {
    issues.add(`ERR_UNSUPPORTED_CALL_${name.toUpperCase()}`, `${path}/call`, `calls of ${name} are not supported`);
    return;
  }
  if (/:\/\/|@/.test(name)) {
    issues.add('ERR_UNSUPPORTED_CATALOG', `${path}/call`, 'functions of a catalog are not supported');
    return;
  }
  const seen = [...ARGUMENTS.task, ...names];
  if (task.with !== undefined) checkValue(issues, `${path}/with`, task.with, seen);
  if (name === 'http') {
    checkHttp(checking, `${path}/with`, task.with ?? {});
  } else if (!use.functions || !Object.hasOwn(use.functions, name)) {
    const check = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (!check) issues.add('ERR_FUNCTION', `${path}/call`, `no function is named ${name}`);
    for (const issue of check?.(task.with ?? {}) ?? [])
      issues.add(issue.code, `${path}/with${issue.path}`, issue.message);
  }
}

function checkHttp(checking: Checking, path: string, value: Json): void {
  const { issues } = checking;
  const call = issues.read(httpSchema, value, path);
  if (!call) return;
  if (call.endpoint !== undefined && call.uri !== undefined) {
    issues.add('ERR_INVALID', `${path}/uri`, 'uri and endpoint are the same setting; use only one of them');
  }
  const name = call.endpoint === undefined ? 'uri' : 'endpoint';
  const endpoint = call.endpoint ?? call.uri;
  if (endpoint === undefined) {
    issues.add('ERR_MISSING', `${path}/endpoint`, 'an endpoint is required');
  } else if (typeof endpoint === 'string') {
    checkUri(checking, `${path}/${name}`, endpoint);
  } else {
    const read = issues.read(endpointSchema, endpoint, `${path}/${name}`);
    if (read) checkUri(checking, `${path}/${name}/uri`, read.uri);
    if (read?.authentication !== undefined) {
      checkAuthentication(checking, `${path}/${name}/authentication`, read.authentication);
    }
  }
  for (const part of ['headers', 'query'] as const) {
    const given = call[part];
    if (typeof given === 'string' && !isExpression(given)) {
      issues.add('ERR_INVALID', `${path}/${part}`, 'must be an object or an expression');
    }
    if (!isObject(given)) continue;
    for (const [key, item] of Object.entries(given)) {
      if (typeof item === 'object' && item !== null && part === 'headers') {
        issues.add('ERR_INVALID', `${path}/headers/${pointerSegment(key)}`, 'a header must be a string');
      }
    }
  }
}

function checkUri({ issues }: Checking, path: string, uri: string): void {
  if (!isExpression(uri) && !URI.test(uri)) issues.add('ERR_INVALID', path, 'must be an absolute URI or an expression');
}

/** Checks an authentication: by name, basic or bearer. The DSL's other kinds are not supported yet. */
export function checkAuthentication(checking: Checking, path: string, value: Json): void {
  const { issues } = checking;
  if (isObject(value)) {
    const scheme = Object.keys(value)[0] ?? '';
    if (['digest', 'oauth2', 'oidc', 'certificate'].includes(scheme)) {
      issues.add('ERR_UNSUPPORTED_AUTHENTICATION', `${path}/${scheme}`, `${scheme} authentication is not supported`);
      return;
    }
    const inner = value[scheme];
    if ((scheme === 'basic' || scheme === 'bearer') && isObject(inner) && Object.hasOwn(inner, 'use')) {
      issues.add('ERR_UNSUPPORTED_SECRETS', `${path}/${scheme}/use`, 'secrets are not supported');
      return;
    }
  }
  const read = issues.read(authenticationSchema, value, path);
  if (read && 'use' in read) checkReference(checking, 'authentications', read.use, `${path}/use`);
}
