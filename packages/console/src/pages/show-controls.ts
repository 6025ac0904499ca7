import { printable } from '@belay/sdk';

/** Matches a filled-in text area, a tag, or a control character of the text. */
const pieces = /<textarea\b[\s\S]*?<\/textarea>|<(?:"[^"]*"|[^">])*>|[^\P{C}\n\r\t]|[\p{Zl}\p{Zp}]/gu;
/** Attributes that people see or hear. Form values stay unchanged, because browsers send them back to the server. */
const spoken = / (title|aria-label|placeholder|alt)="([^"]*)"/g;

/**
 * Returns markup in which control and bidirectional characters are visible, as `\u{…}`, so that a reason cannot be disguised as another
 * one. It processes whole pages, so that no text is forgotten.
 */
export function showControls(markup: string): string {
  return markup.replace(pieces, (piece) => {
    if (!piece.startsWith('<')) return printable(piece);
    if (piece.startsWith('<textarea')) return piece;
    return piece.replace(spoken, (_whole, name: string, value: string) => ` ${name}="${printable(value)}"`);
  });
}
