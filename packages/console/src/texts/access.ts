import type { Inserted } from './inserted.js';

export const access = {
  title: 'Active access',
  lead: 'Access that you hold now. It expires on its own; give it back when you no longer need it.',
  requestAccess: 'Request access',
  emptyHint: 'What you are granted is listed here until it ends.',
  announceNone: 'No active access',
  announceCount: (length: Inserted) => `Active access: ${length}`,
  empty: 'No active access',
  access: 'Access',
  system: 'System',
  identity: 'Identity',
  timeLeft: 'Time left',
  notStarted: 'Starts when the access is granted',
  expires: 'Expires',
  revocation: 'Revocation',
  giveBack: 'Give back',
} as const;

export const accessPart = {
  membershipOfTheRole: 'membership of the role ',
  endsImmediately: 'Ends immediately, including open sessions.',
  waiting: 'Waiting for the provider',
  endsItself: 'The provider ends it by itself, also while Belay is stopped.',
  residual: (first: Inserted) =>
    `Credentials that were already issued can work for up to ${first} after the access ends.`,
} as const;
