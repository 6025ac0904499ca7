import { z } from 'zod';
import type { EventName } from './event-types.js';
import { limits } from './limits.js';
import { isStorable, isStorableJson, unstorableMessage } from './text.js';

const text = (shortest: number, longest: number) =>
  z.string().min(shortest).max(longest).refine(isStorable, unstorableMessage);

/** A name or an identifier: never empty. */
export const name = text(1, limits.name);
/** Why a person requests access. The role can require more of it. */
export const reason = text(1, limits.reason);
/** A comment, a description, or words to search for; may be empty. */
export const remark = text(0, limits.remark);
/** A sealed token, an authorization code or an address. */
export const opaque = text(1, limits.opaque);
/** An ISO 8601 duration or its short form, as text for `parseDuration`. */
export const duration = text(1, limits.duration).describe('ISO 8601 duration, such as PT1H');
/** Comma-separated in a query, an array everywhere else. */
export const names = z.array(name).max(limits.names);
/** A list that must not be empty, because an absent one means "all". */
export const someNames = names.min(1, 'must name at least one');
/** UTC, ISO 8601 with milliseconds and `Z`. */
export const instant = z.string().meta({ format: 'date-time' });
/** Returns whether a time is in the years that JavaScript and PostgreSQL write the same way, in every time zone. */
function isStorableTime(given: string): boolean {
  const year = new Date(given).getUTCFullYear();
  return year >= 1 && year <= 9998;
}
const storableTime = 'must be in the years 1 to 9998';
/** A time that a client sends. */
export const time = z.iso.datetime({ offset: true }).refine(isStorableTime, storableTime);
/** The first or the last moment of the entries to list, as a form field of a browser or a program writes it. */
export const moment = z
  .union([z.iso.datetime({ offset: true, local: true }), z.iso.date()], {
    error: 'must be a day or a time, for example 2026-01-31 or 2026-01-31T09:30:00Z',
  })
  .refine((given) => Number.isNaN(Date.parse(given)) || isStorableTime(given), storableTime)
  .describe(
    'Inclusive. Without an offset it is in UTC; without seconds it is the whole minute, without a time the whole day',
  );
export const leavesBehind = z
  .string()
  .nullable()
  .describe('What the holder can leave behind that a revocation does not remove, as a sentence; null for nothing');
/** The name of an event: any text; its type lists the events that this version writes. */
export const eventName = z.string() as unknown as z.ZodType<EventName, string>;
export const approvalStatus = z.enum(['open', 'approved', 'denied', 'expired', 'withdrawn']);
export const verdict = z.enum(['approve', 'deny']);
export type Verdict = z.infer<typeof verdict>;

/**
 * Any JSON value whose texts can be stored. Nothing else is checked, because the value was parsed from JSON. Its input type is
 * `unknown`, so that clients need no recursive type.
 */
export const json = z.unknown().refine(isStorableJson, unstorableMessage) as z.ZodType<z.core.util.JSONType, unknown>;

/** The output of an operation that returns no data. */
export const done = z.object({ status: z.string(), message: z.string() });
export type Done = z.infer<typeof done>;
export const message = z.object({ message: z.string() });

/** The place of an approval among the stages of its step. */
export const stages = {
  stage: z
    .number()
    .int()
    .describe('Which stage of its step the approval is, from 1; each is opened when the one before was approved'),
  stages: z.number().int().describe('How many stages the step has'),
};
