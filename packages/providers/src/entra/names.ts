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
