/** Half of a surrogate pair, or NUL: neither is text that a person wrote, and PostgreSQL stores neither. */
const unstorable = /[\0\p{Surrogate}]/u;

/** What an error says of a text with such characters, after the name of its field. */
export const unstorableMessage = 'contains characters that cannot be stored';

/** Returns whether a text can be stored. */
export function isStorable(text: string): boolean {
  return !unstorable.test(text);
}

/** Returns whether every text of a JSON value can be stored, the names of its fields included. */
export function isStorableJson(value: unknown): boolean {
  let good = true;
  JSON.stringify(value, (key, inner: unknown) => {
    good &&= isStorable(key) && (typeof inner !== 'string' || isStorable(inner));
    return inner;
  });
  return good;
}
