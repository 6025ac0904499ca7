/** Returns whether a text can be a name at Entra. Only such texts are sent in a filter. */
export function isName(text: string): boolean {
  return text.length <= 256 && text.trim() === text && text !== '' && !/\p{Cc}|\p{Surrogate}/u.test(text);
}

const guid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const segment = String.raw`(?!\.{1,2}(?:\/|$))[a-z0-9._()-]{1,260}`;
const scope = new RegExp(
  `^(?:/providers/microsoft\\.management/managementgroups/${segment}|/subscriptions/${guid}(?:/resourcegroups/${segment}(?:/${segment})*)?)$`,
  'i',
);

/** Returns whether a text is an identifier that Entra gives. */
export const isGuid = (text: string) => new RegExp(`^${guid}$`, 'i').test(text);

/** Returns whether a text is a scope of Azure; false for segments such as `..`, which would change the path of a URL. */
export const isScope = (text: string) => scope.test(text);

/** Returns whether two scopes are the same, without regard to case. */
export const isSameScope = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/** Returns whether the scope `one` is the scope `other` or below it. */
export function isWithin(one: string, other: string): boolean {
  return isSameScope(one, other) || one.toLowerCase().startsWith(`${other.toLowerCase()}/`);
}

/** Returns a condition of OData; a quote in a text is doubled (OData 4.01, ABNF). */
export function equal(property: string, text: string): string {
  return `${property} eq '${text.replaceAll("'", "''")}'`;
}

const anyManagementGroup = '/providers/Microsoft.Management/managementGroups/*';
/** Patterns of all scopes, by the number of their segments. */
const anyScope = Array.from({ length: 20 }, (_, index) => '/*'.repeat(index + 1));

/**
 * Returns the scopes that contain a scope. Which management groups contain it is not in its name: any may. In a pattern, `*` stands for
 * a segment, or is at the end; another one may stand for several segments, and then anything may contain what it matches.
 */
export function scopesAround(scope: string): string[] {
  const segments = scope.split('/').slice(1);
  if (
    segments.some((one, index) => /\*./.test(one) || (one.endsWith('*') && one !== '*' && index < segments.length - 1))
  )
    return anyScope;
  if (segments[0]?.toLowerCase() !== 'subscriptions') return [anyManagementGroup];
  const within = segments.slice(2).map((_, index) => `/${segments.slice(0, index + 2).join('/')}`);
  return [anyManagementGroup, ...within];
}
