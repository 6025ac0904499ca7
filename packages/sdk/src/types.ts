/*
 * What goes into and comes out of the SDK, declared by hand so that the published declarations need nothing but
 * TypeScript's own library. test/types.test.ts holds them equal to what the server's router infers, both ways.
 * Times are ISO 8601 in UTC with milliseconds; durations are ISO 8601, and `1h30m` is accepted where one goes in.
 */

export type * from './types/access.js';
export type * from './types/approvals.js';
export type * from './types/auth.js';
export type * from './types/elevation.js';
export type * from './types/executions.js';
export type * from './types/options.js';
export type * from './types/providers.js';
export type * from './types/roles.js';
export type * from './types/system.js';
