import type { NotificationPreferences } from '@belay/sdk';
import { addCommand, type Parent } from '../command.js';

interface Options {
  mute?: string[];
  unmute?: string[];
  channel?: string[];
  allChannels?: true;
  quiet?: string;
  timeZone?: string;
  clearQuiet?: true;
}

/** Declares the command `belay notifications`, which shows and changes the messages that the person gets outside of Belay. */
export function addNotifications(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'notifications',
    description: 'show or change your notifications: kinds, channels and quiet hours',
    examples: [
      'notifications',
      'notifications --mute access.active --channel mail',
      'notifications --quiet 22:00-07:00 --time-zone Europe/Berlin',
    ],
    options: (command) =>
      command
        .option('--mute <kind...>', 'the kinds to turn off')
        .option('--unmute <kind...>', 'the kinds to turn on again')
        .option('--channel <id...>', 'the channels that send you notifications')
        .option('--all-channels', 'use every channel')
        .option('--quiet <from-to>', 'hours in which only urgent notifications are sent, for example 22:00-07:00')
        .option('--time-zone <name>', 'the time zone of these hours, for example Europe/Berlin')
        .option('--clear-quiet', 'remove the quiet hours'),
    run: async ({ options, output, connect, shell }) => {
      const { client } = await connect();
      const { signal } = shell;
      const { available: _, ...current } = await client.preferences.get({ signal });
      const wanted = change(current, options);
      const shown = wanted
        ? await client.preferences.set(wanted, { signal })
        : await client.preferences.get({ signal });
      const { quiet_hours: quiet, channels, muted } = shown;
      output.result(shown, () =>
        output.fields({
          channels: (channels ?? shown.available.channels).join(', ') || 'none',
          told: shown.available.kinds.filter((kind) => !muted.includes(kind)).join(', ') || 'nothing',
          muted: muted.join(', '),
          'quiet hours': quiet ? `${quiet.from}-${quiet.to} ${quiet.time_zone}` : 'none',
        }),
      );
      return undefined;
    },
  });
}

/** Returns the preferences with the changes of the options, or null without an option. The server checks each value. */
function change(current: NotificationPreferences, options: Options): NotificationPreferences | null {
  if (Object.keys(options).length === 0) return null;
  const { mute = [], unmute = [], channel, allChannels, quiet, timeZone, clearQuiet } = options;
  const kept = current.muted.filter((kind) => !unmute.includes(kind));
  const [from = '', to = ''] = quiet?.split('-') ?? [];
  const zone = timeZone ?? current.quiet_hours?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hours =
    quiet === undefined
      ? current.quiet_hours && { ...current.quiet_hours, time_zone: zone }
      : { from, to, time_zone: zone };
  return {
    channels: allChannels ? null : (channel ?? current.channels),
    muted: [...new Set([...kept, ...(mute as NotificationPreferences['muted'])])],
    quiet_hours: clearQuiet ? null : hours,
  };
}
