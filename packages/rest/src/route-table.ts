import { csv } from '@belay/contract/csv';
import type { AnyTRPCRouter } from '@trpc/server';
import { type FieldKinds, fieldKinds } from './fields.js';
import { metricsTypes } from './metrics-text.js';
import { type DeclaredOperation, listOperations } from './operations.js';
import { ndjson } from './stream.js';

export interface Operation extends DeclaredOperation {
  kinds: FieldKinds;
  /** The media types of the output; a client without a preference gets the first. */
  offers: readonly string[];
  /** Names of the path's parameters. */
  parameters: readonly string[];
}

export interface Route {
  path: string;
  methods: ReadonlyMap<string, Operation>;
  /** A state-changing GET, which a browser confirms with a POST to the same address (docs/interface.md, section 16, rule 3). */
  confirmable: Operation | undefined;
  allow: string;
}

export interface RouteTable {
  /** Returns the route of a path without its prefix. `malformed` names a parameter that is not percent-encoded UTF-8. */
  find(path: string): { route: Route; parameters: Record<string, string> } | { malformed: string } | undefined;
  /** Paths that are served without the prefix as well. */
  atRoot: ReadonlySet<string>;
  routes: readonly Route[];
}

const json = 'application/json';
const html = 'text/html';

function offersOf({ rest }: DeclaredOperation): string[] {
  if (rest.metrics !== undefined) return [json, ...metricsTypes];
  if (rest.stream !== undefined) return rest.csv === undefined ? [ndjson, json] : [ndjson, csv, json];
  if (rest.document !== undefined) return [rest.document.type, json];
  if (rest.html === 'preferred') return [html, json];
  return rest.html === 'offered' || rest.confirm !== undefined || rest.redirect !== undefined ? [json, html] : [json];
}

function toRoute(path: string, operations: readonly Operation[]): Route {
  const methods = new Map<string, Operation>();
  for (const operation of operations) {
    methods.set(operation.method, operation);
    if (operation.rest.alsoPost === true) methods.set('POST', operation);
  }
  const read = methods.get('GET');
  // HEAD is only served where GET changes nothing, so that a link checker changes nothing.
  if (read !== undefined && read.type === 'query') methods.set('HEAD', read);
  const confirmable = read !== undefined && read.rest.confirm !== undefined ? read : undefined;
  // The POST of a confirmation page is left out, because it is rejected from any other sender.
  return { path, methods, confirmable, allow: [...methods.keys(), 'OPTIONS'].join(', ') };
}

/** Returns the table of a router's documented paths: literal paths are found by name, the others by their segments. */
export function createRouteTable(router: AnyTRPCRouter): RouteTable {
  const byPath = new Map<string, Operation[]>();
  for (const declared of listOperations(router)) {
    const parameters = [...declared.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
    const operation = { ...declared, kinds: fieldKinds(declared.input), offers: offersOf(declared), parameters };
    byPath.set(declared.path, [...(byPath.get(declared.path) ?? []), operation]);
  }
  const routes = [...byPath].map(([path, operations]) => toRoute(path, operations));
  const literal = new Map(routes.filter(({ path }) => !path.includes('{')).map((route) => [route.path, route]));
  const patterns = routes
    .filter(({ path }) => path.includes('{'))
    .map((route) => ({ route, segments: route.path.split('/') }));
  const atRoot = new Set([...byPath].flatMap(([path, [first]]) => (first?.rest.atRoot === true ? [path] : [])));

  return {
    routes,
    atRoot,
    find(path) {
      const found = literal.get(path);
      if (found !== undefined) return { route: found, parameters: {} };
      const given = path.split('/');
      for (const { route, segments } of patterns) {
        const parameters = match(segments, given);
        if (parameters === undefined) continue;
        return typeof parameters === 'string' ? { malformed: parameters } : { route, parameters };
      }
      return undefined;
    },
  };
}

/**
 * Returns the parameters of a path, or the name of the first one that cannot be decoded; undefined when the path does
 * not match.
 */
function match(segments: readonly string[], given: readonly string[]): Record<string, string> | string | undefined {
  if (segments.length !== given.length) return undefined;
  const parameters: Record<string, string> = {};
  let malformed: string | undefined;
  for (const [index, segment] of segments.entries()) {
    const actual = given[index] ?? '';
    if (!segment.startsWith('{')) {
      if (segment !== actual) return undefined;
      continue;
    }
    if (actual === '') return undefined;
    const name = segment.slice(1, -1);
    try {
      parameters[name] = decodeURIComponent(actual);
    } catch {
      malformed ??= name;
    }
  }
  return malformed ?? parameters;
}
