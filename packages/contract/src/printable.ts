/** Control characters, and the marks that turn the direction of text around. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns text of other people as it can be shown: what could move a cursor, change colours or reorder the line is written as
 * `\u{…}`, so that a request cannot be made to look like another one to its approver.
 */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Returns the same of a text of several lines: line feeds and tabs stay. */
export function printableLines(text: string): string {
  return text
    .split(/([\n\t])/)
    .map((part) => (part === '\n' || part === '\t' ? part : printable(part)))
    .join('');
}

/** Returns a JSON text that says the same and contains none of those characters: JSON escapes them inside of its strings. */
export function printableJson(json: string): string {
  return json.replace(unprintable, (character) =>
    // Between the strings of JSON there are line feeds and tabs, and inside of them neither.
    /[\n\r\t]/.test(character) ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
