/**
 * The short addresses that people see, with the documented paths behind them: the path of the list, and the path before the name of one
 * item. Both return the same page; links use the short addresses.
 */
const places: Readonly<Record<string, { list: string; one: string }>> = {
  access: { list: '/access', one: '/access' },
  admin: { list: '/admin/access', one: '/admin' },
  audit: { list: '/logs', one: '/logs' },
  inbox: { list: '/approvals', one: '/approvals' },
  requests: { list: '/executions', one: '/execution' },
  reviews: { list: '/reviews', one: '/reviews' },
  roles: { list: '/roles', one: '/role' },
  settings: { list: '/preferences', one: '/preferences' },
  systems: { list: '/providers', one: '/provider' },
  workflows: { list: '/workflows', one: '/workflow' },
};

export type Place =
  | 'access'
  | 'admin'
  | 'audit'
  | 'inbox'
  | 'requests'
  | 'reviews'
  | 'roles'
  | 'settings'
  | 'systems'
  | 'workflows';

/** Returns the short address of a place or of an item in it, with each part escaped: `/requests`, `/requests/…/cancel`. */
export function at(place: Place, ...parts: string[]): string {
  return ['', place, ...parts.map(encodeURIComponent)].join('/');
}

/** Returns the documented path, without the prefix, for a short address; undefined for every other address. */
export function documentedPath(path: string): string | undefined {
  const [, first = '', ...rest] = path.split('/');
  const place = Object.hasOwn(places, first) ? places[first] : undefined;
  if (place === undefined) return undefined;
  return rest.length === 0 ? place.list : [place.one, ...rest].join('/');
}
