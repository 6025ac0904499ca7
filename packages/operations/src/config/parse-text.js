import { LineCounter, parseDocument } from 'yaml';

/**
 * Returns what a text is as YAML: plain JSON values, what is wrong with it and where, or why it cannot be read. JavaScript, because a
 * thread loads it as it is.
 *
 * @typedef {{ content: unknown } | { faults: { line: number, col: number, message: string }[] } | { unreadable: string }} ParsedText
 * @param {string} text
 * @returns {ParsedText}
 */
export function parseText(text) {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  // Also what YAML merely warns about: an unknown tag would change what a value means without a word.
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    return { faults: faults.map(({ pos, message }) => ({ ...lines.linePos(pos[0]), message })) };
  }
  try {
    return { content: document.toJS({ maxAliasCount: 100 }) };
  } catch (error) {
    return { unreadable: error instanceof Error ? error.message : 'cannot be read as YAML' };
  }
}
