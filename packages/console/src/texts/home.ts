import type { Inserted } from './inserted.js';

export const home = {
  belay: 'Belay',
  hello: (name: Inserted) => `Hello, ${name}`,
  requestAccess: 'Request access',
  forYourDecision: ' for your decision',
  requests: ' requests ',
  openInbox: 'Open inbox',
  activeAccess: 'Active access',
  openRequests: 'Open requests',
  all: 'See all',
  ask: 'What do you need access to?',
  askHint: 'A role, a system, or a sentence: “read the billing database for an hour”',
} as const;

export const cart = {
  title: 'Request several roles',
  lead: 'Each role becomes a request of its own, with its own approval.',
  empty: 'No roles selected',
  choose: 'Choose roles',
  roles: 'Roles',
  terms: 'Terms',
  usualDurations: 'The usual duration of each role',
  submit: 'Request access',
  done: (requested: number, all: number) => `${requested} of ${all} roles requested`,
  viewRequests: 'View requests',
  requested: 'Requested',
  rejected: 'Not requested',
} as const;
