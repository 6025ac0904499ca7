import type { Inserted } from './inserted.js';

export const logs = {
  title: 'Audit log',
  lead: 'Your actions and actions on your requests, newest first.',
  export: 'Export (NDJSON)',
  empty: 'No matching events',
  oneEvent: '1 event',
  events: (length: Inserted) => `${length} events`,
  showMore: (length: Inserted) => `Show up to ${length} events`,
  time: 'Time',
  event: 'Event',
  actor: 'Actor',
  level: 'Level',
  request: 'Request',
  hiddenRequest: 'Request ',
  belay: 'Belay',
  filters: 'Filters',
  filter: 'Filter events',
  from: 'From',
  until: 'Until',
  system: 'System',
} as const;
