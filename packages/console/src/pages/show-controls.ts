import { printable } from '@belay/sdk';

/** A field as it was filled in, a tag, or a character of the text that should be seen. */
const pieces = /<textarea\b[\s\S]*?<\/textarea>|<(?:"[^"]*"|[^">])*>|[^\P{C}\n\r\t]|[\p{Zl}\p{Zp}]/gu;
/** Attributes that are shown or spoken. What goes back to the server in a form stays as it is. */
const spoken = / (title|aria-label|placeholder|alt)="([^"]*)"/g;

/**
 * Returns markup in which control and bidirectional characters are visible, as `\u{…}`, so that a reason cannot be made to
 * read as another one. It handles whole pages, so that no single text can be forgotten.
 */
export function showControls(markup: string): string {
  return markup.replace(pieces, (piece) => {
    if (!piece.startsWith('<')) return printable(piece);
    if (piece.startsWith('<textarea')) return piece;
    return piece.replace(spoken, (_whole, name: string, value: string) => ` ${name}="${printable(value)}"`);
  });
}
