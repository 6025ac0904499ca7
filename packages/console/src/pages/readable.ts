import { texts } from '../texts.js';
import { durationInWords, momentInWords } from './words.js';

/** Returns a message of the audit log with its instants and durations in words. */
export function readable(message: string): string {
  return message
    .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (moment) => momentInWords(moment))
    .replace(/\bfor (P(?=T?\d)[\dDTHMS.]+)(?=[:.,]|$)/g, (_whole, duration: string) =>
      texts.readable.for(durationInWords(duration)),
    );
}
