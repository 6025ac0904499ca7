import { wrapAnsi } from 'fast-wrap-ansi';

/** Returns the lines of a text that is wrapped between words; a word that is longer than the width stays whole. */
export function wrapWords(text: string, width: number): string[] {
  return wrapAnsi(text, width, { hard: false, trim: true }).split('\n');
}
