import type { Inserted } from './inserted.js';

export const page = {
  home: 'Home',
  requestAccess: 'Request access',
  inbox: 'Inbox',
  requests: 'Requests',
  activeAccess: 'Active access',
  workflows: 'Workflows',
  systems: 'Systems',
  auditLog: 'Audit log',
  main: 'Main',
  waitingForYourDecision: ' waiting for your decision',
  signOut: 'Sign out',
  signedOut: 'You are signed out. Sign in to continue.',
  title: (title: Inserted, waiting: number) => `${waiting > 0 ? `(${waiting}) ` : ''}${title} · Belay`,
  skipToContent: 'Skip to content',
  belay: 'Belay',
  timesAreInUtc: 'Times are in UTC.',
  timesAreLocal: 'Times are in your time zone; point at one for UTC.',
  search: 'Search',
  searchEverything: ' roles, requests and pages',
  commandKey: 'Ctrl K',
  menu: 'Menu',
  path: 'Path',
  reference: 'Reference',
  apiReference: 'API reference',
} as const;

export const error = {
  invalid: 'Invalid request',
  signInRequired: 'Sign-in required',
  notAllowed: 'Not allowed',
  notFound: 'Not found',
  methodNotAllowed: 'Method not allowed',
  noLongerPossible: 'No longer possible',
  tooManyRequests: 'Too many requests',
  notConfigured: 'Not configured',
  unavailable: 'Temporarily unavailable',
  serverError: 'Server error',
  failed: 'Request failed',
  signIn: 'Sign in',
  enterCodeAgain: 'Enter code again',
  home: 'Home',
  reference: 'Request ID: ',
} as const;

export const draft = {
  keptUntilSignIn:
    'Nothing was sent. What you wrote is kept in this tab: sign in as the same person to find it in the form again.',
  kept: 'Nothing was sent. What you wrote is kept in this tab and is in the form when you open it again.',
  restored: 'Nothing was sent because your session had ended. This is what you wrote. Review it and send it again.',
  openForm: 'Open form',
  nothingSent: 'Nothing was sent',
  sealed:
    'This page keeps what you wrote, sealed for you alone, for one hour. Sign in as the same person in a new tab. Then come back here and open the form: it has what you wrote, and you can review and send it.',
  signInBeside: 'Sign in (new tab)',
} as const;

export const search = {
  title: 'Search',
  label: 'Search roles, requests and pages',
  submit: 'Search',
  actions: 'Actions',
  decide: (count: Inserted) => `Decide requests that wait for you (${count})`,
  giveBack: (role: Inserted) => `Give back ${role}`,
  extend: (role: Inserted) => `Extend ${role}`,
  pages: 'Pages',
  roles: 'Roles',
  people: 'People',
  requests: 'Requests',
  empty: (words: Inserted) => `Nothing matches “${words}”`,
} as const;
