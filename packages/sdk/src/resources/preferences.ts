import type { Transport } from '../transport/create-transport.js';
import type { CallOptions, NotificationPreferences, ShownPreferences } from '../types.js';

/** The caller's preferences for the notifications outside of Belay. */
export interface PreferencesResource {
  get(options?: CallOptions): Promise<ShownPreferences>;
  /** Replaces all preferences. */
  set(preferences: NotificationPreferences, options?: CallOptions): Promise<ShownPreferences>;
}

export function createPreferences(transport: Transport): PreferencesResource {
  return {
    get: (options) => transport.query('preferences.get', undefined, options),
    set: (preferences, options) => transport.mutate('preferences.set', preferences, options),
  };
}
