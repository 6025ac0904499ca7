import { expect, it } from 'vitest';
import { elevationOperations } from '../src/elevation.js';

const terms = { providers: ['store'], reason: 'a ticket' };
const issuesOf = (more: object) =>
  elevationOperations.request.input.safeParse({ ...terms, ...more }).error?.issues.map(({ path }) => path) ?? [];

it.each([
  ['nothing', {}],
  ['resources only', { resources: ['disk'] }],
  ['users only', { users: ['rita@example.com'] }],
])('rejects a request without a role that names %s', (_, more) => {
  expect(issuesOf(more)).toEqual([['role']]);
});

it.each([
  ['permissions', { permissions: ['logs.read'], resources: ['disk'] }],
  ['groups', { groups: ['store:read'], users: ['rita@example.com'] }],
])('accepts a request without a role that names %s', (_, more) => {
  expect(issuesOf(more)).toEqual([]);
});
