import { z } from 'zod';

/** A name or an identifier in a request: never empty, never endless. */
export const name = z.string().min(1).max(200);
/** Text that a person wrote. Verbs say what else it must be. */
export const prose = z.string().min(1).max(4000);
/** A sealed token, an authorization code or the like. */
export const opaque = z.string().min(1).max(16_384);
/** ISO 8601 duration, or the short form `1h30m`; core reads it (design §14.13). */
export const duration = z.string().min(1).max(64).describe('ISO 8601 duration, such as PT1H');
/** Comma-separated in a query, an array everywhere else. */
export const names = z.array(name).max(100);
/** UTC, ISO 8601 with milliseconds and `Z`. */
export const instant = z.string().meta({ format: 'date-time' });
