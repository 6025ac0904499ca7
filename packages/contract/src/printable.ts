/** Control characters, line separators, and the marks that change the direction of text. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns a text of another person so that it can be shown safely: characters that could move the cursor, change colours or
 * reorder the line are written as `\u{…}`. Otherwise a request could look like a different request to its approver.
 */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Returns the same for a text of several lines: line feeds and tabs stay. */
export function printableLines(text: string): string {
  return text
    .split(/([\n\t])/)
    .map((part) => (part === '\n' || part === '\t' ? part : printable(part)))
    .join('');
}

/** Returns a JSON text of the same value in which the characters that `printable` escapes are escaped. */
export function printableJson(json: string): string {
  return json.replace(unprintable, (character) =>
    // Line breaks and tabs in JSON are always between its strings; inside a string JSON has escaped them already.
    /[\n\r\t]/.test(character) ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
