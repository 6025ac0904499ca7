import type { Inserted } from './inserted.js';

export const dialogPart = {
  close: 'Close',
} as const;

export const formPart = {
  notSent: 'The request was not sent: ',
  checkFields: 'check the fields below.',
} as const;

export const filtersPart = {
  notApplied: 'The list was not filtered: ',
  clear: 'Clear filters',
  set: ' set',
  any: 'Any',
  utc: '(UTC)',
  localTime: '(your time)',
  reversed: '“From” is after “Until”, so nothing can match.',
} as const;

export const listPart = {
  pages: 'Pages',
  previous: 'Previous',
  next: 'Next',
} as const;

export const statusPart = {
  running: 'Running',
  waitingForApproval: 'Waiting for approval',
  beingGranted: 'Being granted',
  active: 'Active',
  beingRevoked: 'Being revoked',
  ended: 'Ended',
  denied: 'Denied',
  cancelled: 'Cancelled',
  terminated: 'Terminated',
  failed: 'Failed',
  removed: 'Removed',
  open: 'Open',
  approved: 'Approved',
  expired: 'Expired',
  withdrawn: 'Withdrawn',
  emergency: 'Emergency',
} as const;

export const timePart = {
  timeLeft: 'Time left',
} as const;

export const words = {
  noTime: '0 seconds',
  lessThanASecond: 'less than a second',
  noTimeLeft: 'no time left',
  dHLeft: (days: Inserted, hours: Inserted) => `${days} d ${hours} h left`,
  hMinLeft: (hours: Inserted, minutes: Inserted) => `${hours} h ${minutes} min left`,
  minSLeft: (minutes: Inserted, second: Inserted) => `${minutes} min ${second} s left`,
  sLeft: (seconds: Inserted) => `${seconds} s left`,
  inAMoment: 'in a moment',
  justNow: 'just now',
  in: (text: Inserted) => `in ${text}`,
  ago: (text: Inserted) => `${text} ago`,
} as const;

export const readable = {
  for: (first: Inserted) => `for ${first}`,
} as const;
