import { invalid } from '@belay/contract/errors';
import type { ChosenPreferences, NotificationPreferences, ShownPreferences } from '@belay/contract/preferences';
import { notificationPreferences } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorStore, Store } from '../context.js';

/** Returns which notices the caller receives, and what they can choose from; all notices on all channels until they choose. */
export async function readPreferences(ctx: ActorStore): Promise<ShownPreferences> {
  const { id } = requireUser(ctx);
  const [row] = await ctx.db.select().from(notificationPreferences).where(eq(notificationPreferences.userId, id));
  return show(ctx, row);
}

/** Replaces the preferences of the caller. Throws `invalid` for a channel that the configuration does not name. */
export async function writePreferences(ctx: ActorStore, input: NotificationPreferences): Promise<ShownPreferences> {
  const { id } = requireUser(ctx);
  const { channels, muted, quiet_hours } = input;
  const known = ctx.catalog.current().document.messages?.channels ?? [];
  const unknown = channels?.find((channel) => !known.includes(channel));
  if (unknown !== undefined)
    throw invalid('channels', `"${unknown}" is not a channel; available: ${known.join(', ') || 'none'}`);
  const chosen = {
    channels,
    muted,
    quietFrom: quiet_hours?.from ?? null,
    quietTo: quiet_hours?.to ?? null,
    timeZone: quiet_hours?.time_zone ?? null,
  };
  const [row] = await ctx.db
    .insert(notificationPreferences)
    .values({ userId: id, ...chosen })
    .onConflictDoUpdate({ target: notificationPreferences.userId, set: { ...chosen, updatedAt: sql`app_now()` } })
    .returning();
  return show(ctx, row);
}

/**
 * Stores what the caller chose in a form (`writePreferences`). Kinds that the configuration does not contain now keep their setting. Throws
 * `invalid` for quiet hours with only a start or only an end, or with an end that equals the start.
 */
export async function choosePreferences(ctx: ActorStore, input: ChosenPreferences): Promise<ShownPreferences> {
  const { available, muted } = await readPreferences(ctx);
  const { channels = [], told = [], quiet_from: from, quiet_to: to, time_zone = 'UTC' } = input;
  const all = available.channels.every((channel) => channels.includes(channel));
  return writePreferences(ctx, {
    channels: all && channels.length === available.channels.length ? null : channels,
    muted: [
      ...muted.filter((kind) => !available.kinds.includes(kind)),
      ...available.kinds.filter((kind) => !told.includes(kind)),
    ],
    quiet_hours: quietHoursOf(from, to, time_zone),
  });
}

function quietHoursOf(from: string | undefined, to: string | undefined, time_zone: string) {
  if (from === undefined && to === undefined) return null;
  if (from === undefined) throw invalid('quiet_from', 'is required when the quiet hours have an end');
  if (to === undefined) throw invalid('quiet_to', 'is required when the quiet hours have a start');
  if (from === to) throw invalid('quiet_to', 'must differ from the start');
  return { from, to, time_zone };
}

function show(ctx: Store, row: typeof notificationPreferences.$inferSelect | undefined): ShownPreferences {
  const told = ctx.catalog.current().document.messages;
  const { channels = null, muted = [], quietFrom = null, quietTo = null, timeZone } = row ?? {};
  const quiet = quietFrom === null || quietTo === null ? null : { from: quietFrom, to: quietTo };
  return {
    channels,
    muted,
    quiet_hours: quiet && { ...quiet, time_zone: timeZone ?? 'UTC' },
    available: { channels: told?.channels ?? [], kinds: told?.kinds ?? [] },
  };
}
