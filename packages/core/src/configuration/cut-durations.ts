import type { ErrorIssue } from '@belay/contract/errors';
import { readDuration } from '../duration.js';
import type { CatalogDocument } from './schema.js';

/** Warns where a role may be requested for longer than the server permits: then the maximum of the server counts. */
export function cutDurations({ roles, server }: CatalogDocument, serverMaximum: number): ErrorIssue[] {
  return Object.entries(roles).flatMap(([name, { max_duration: text }]) => {
    const asked = text === undefined ? 0 : (readDuration(text, '', []) ?? 0);
    if (asked <= serverMaximum) return [];
    const maximum =
      server.max_duration === undefined
        ? 'PT24H, the default of server.max_duration'
        : `server.max_duration, ${server.max_duration}`;
    return [
      {
        path: `roles.${name}.max_duration`,
        message: `is longer than ${maximum}, which counts: set server.max_duration`,
      },
    ];
  });
}
