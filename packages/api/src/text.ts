import { z } from 'zod';

/** Half a character or a zero byte: no text a person wrote, and nothing PostgreSQL would store. */
const unstorable = /[\0\p{Surrogate}]/u;
const storable = (value: string): boolean => !unstorable.test(value);
const text = (shortest: number, longest: number) =>
  z.string().min(shortest).max(longest).refine(storable, 'has characters that are not text');

/** A name or an identifier in a request: never empty, never endless. */
export const name = text(1, 200);
/** Text that a person wrote; what else it must be, verbs say. */
export const prose = text(1, 4000);
/** A remark, or words to search for; may be empty. */
export const remark = text(0, 2000);
/** A sealed token, an authorization code or the like. */
export const opaque = text(1, 16_384);
/** ISO 8601 duration, or the short form `1h30m`; core reads it (design §14.13). */
export const duration = text(1, 64).describe('ISO 8601 duration, such as PT1H');
/** Comma-separated in a query, an array everywhere else. */
export const names = z.array(name).max(100);
/** A list that would mean "all" when it was taken for left out, and so may not be empty. */
export const someNames = names.min(1, 'must name at least one');
/** UTC, ISO 8601 with milliseconds and `Z`. */
export const instant = z.string().meta({ format: 'date-time' });
export const leavesBehind = z
  .string()
  .nullable()
  .describe('What the holder may leave behind that a revocation does not remove, in a sentence');

/** Any JSON whose texts can be stored. */
export const json = z.json().refine((value) => {
  let good = true;
  JSON.stringify(value, (key, inner: unknown) => {
    good &&= storable(key) && (typeof inner !== 'string' || storable(inner));
    return inner;
  });
  return good;
}, 'has characters that are not text');
