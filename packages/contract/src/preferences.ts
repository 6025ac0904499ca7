import { z } from 'zod';
import { name } from './fields.js';
import { mutation, query } from './operation.js';

/** The kinds of notifications that people can get outside of Belay. */
export const noticeKinds = [
  'request.waiting',
  'request.decided',
  'request.comment',
  'access.active',
  'access.ending',
  'access.ended',
  'revocation.overdue',
  'access.drifted',
  'people.joined',
  'break_glass.used',
  'review.opened',
  'review.overdue',
  'requests.digest',
] as const;
export const noticeKind = z.enum(noticeKinds);

/** An hour and a minute of the day. */
export const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of the day, for example 22:00');

/** A time zone by its IANA name. */
export const timeZone = z
  .string()
  .max(64)
  // Offsets such as +02:00 have the opposite sign in PostgreSQL.
  .regex(/^[A-Za-z]/, 'must be the IANA name of a time zone, for example Europe/Berlin')
  .refine(isTimeZone, 'must be the IANA name of a time zone, for example Europe/Berlin');

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

const quietHours = z
  .strictObject({ from: timeOfDay, to: timeOfDay, time_zone: timeZone })
  .refine(({ from, to }) => from !== to, { path: ['to'], message: 'must differ from "from"' })
  .describe('Notifications that are not urgent wait until these hours end');

export const notificationPreferences = z.object({
  channels: z.array(name).max(20).nullable().describe('Null: all channels that the configuration names'),
  muted: z.array(noticeKind).max(noticeKinds.length).describe('Kinds of notifications that the person has turned off'),
  quiet_hours: quietHours.nullable(),
});
/** The notifications that a person wants to get outside of Belay, where and when. */
export type NotificationPreferences = z.infer<typeof notificationPreferences>;

export const shownPreferences = notificationPreferences.extend({
  available: z.object({
    channels: z.array(z.string()).describe('The channels that the configuration names'),
    kinds: z.array(noticeKind).describe('The kinds of notifications that it sends'),
  }),
});
export type ShownPreferences = z.infer<typeof shownPreferences>;

const chosenPreferences = z.strictObject({
  channels: z
    .array(name)
    .max(20)
    .optional()
    .describe('Channels among the available ones; to name all of them includes channels that are added later'),
  told: z
    .array(noticeKind)
    .max(noticeKinds.length)
    .optional()
    .describe('The kinds of notifications that the person wants'),
  quiet_from: timeOfDay.optional(),
  quiet_to: timeOfDay.optional(),
  time_zone: timeZone.optional(),
});
/** The same preferences as a form sends them: the kinds that are turned on instead of `muted`, in fields without nesting. */
export type ChosenPreferences = z.infer<typeof chosenPreferences>;

export const preferenceOperations = {
  get: query({ output: shownPreferences }),
  set: mutation({ input: z.strictObject(notificationPreferences.shape), output: shownPreferences }),
  choose: mutation({ input: chosenPreferences, output: shownPreferences }),
};
