/** Control characters, and the marks that turn the direction of text around. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Text from elsewhere, safe on a terminal: what could move the cursor, change colours or reorder the line is shown as
 * `\u{…}` instead, so that a request cannot dress itself up for its approver.
 */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
