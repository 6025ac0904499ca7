/** Half of a surrogate pair, or NUL: neither is text that a person wrote, and PostgreSQL stores neither. */
const unstorable = /[\0\p{Surrogate}]/u;

/** The error message for a text with such characters, after the name of its field. */
export const unstorableMessage = 'contains characters that cannot be stored';

/** Returns whether a text can be stored. */
export function isStorable(text: string): boolean {
  return !unstorable.test(text);
}

/** Returns a text that can be stored, with a replacement character for each character that cannot. */
export function toStorable(text: string): string {
  return isStorable(text) ? text : text.replace(new RegExp(unstorable.source, 'gu'), '\uFFFD');
}

/** Returns the first `longest` UTF-16 code units of a text, or one less where they would end with half of a surrogate pair. */
export function cutText(text: string, longest: number): string {
  return text.length <= longest ? text : text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '');
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

/** Control and format characters, and separators of lines and paragraphs: they are not displayed. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]/u;

/** Returns whether a text has characters that are not displayed, or that change how other characters are displayed. */
export function hasUnseen(text: string): boolean {
  return unseen.test(text);
}

/** Returns a text with a space in place of each run of characters that are not displayed. */
export function withoutUnseen(text: string): string {
  return text.replace(new RegExp(`${unseen.source}+`, 'gu'), ' ');
}

/** Returns a text as one line, so that a break in it cannot imitate a line of our own. Marks that change text direction stay. */
export function toOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}
