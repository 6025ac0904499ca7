import * as providers from '@belay/providers';
import type { Shape } from '../shapes.js';

const validate = { validate: { call: 'access.validate' } };
const grant = { grant: { call: 'access.grant' } };
/** An approval as the shipped examples have it. */
const approval = [
  {
    approve: {
      call: 'access.approve',
      with: { stages: [{ approvers: { groups: ['approvers'] }, count: 1, timeout: 'PT4H' }] },
    },
  },
  {
    decide: {
      switch: [{ approved: { when: '${ .approved == true }', then: 'grant' } }, { refused: { then: 'end' } }],
    },
  },
];

const tasks: Readonly<Record<Shape, readonly object[]>> = {
  grant: [grant],
  validate: [validate, grant],
  approve: [validate, ...approval, grant],
  hold: [validate, ...approval, grant, { hold: { call: 'access.hold' } }],
};

const workflow = (name: string, work: readonly object[]) => ({
  workflow: { document: { dsl: '1.0.3', namespace: 'bench', name, version: '1.0.0' }, do: work },
});

/** An older Belay, which this program measures as well, has no such limit and rejects the key. */
const hourly = 'createBudget' in providers ? { requests_per_hour: 100_000 } : {};

/**
 * Returns a catalog: a role with a workflow for each shape and the given ones; a role at the silent provider; and twenty more, so that
 * lists are longer.
 */
export const catalogWith = (workflows: Readonly<Record<string, object>> = {}) => ({
  access: { auditors: { groups: ['auditors'] } },
  server: { limits: { open_requests: 10_000, event_streams: 10_000, ...hourly } },
  providers: { memory: { provider: 'memory' }, silent: { provider: 'silent' } },
  roles: {
    reader: {
      description: 'May read',
      providers: ['memory'],
      workflows: [...Object.keys(tasks), ...Object.keys(workflows)],
      inherits: ['memory:read'],
      permissions: { groups: ['engineers'] },
    },
    'silent-reader': {
      description: 'May read where nothing answers',
      providers: ['silent'],
      workflows: ['grant'],
      inherits: ['silent:read'],
    },
    ...Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `role-${index}`,
        {
          description: `Role number ${index}`,
          providers: ['memory'],
          workflows: ['approve'],
          inherits: [`memory:role-${index}`],
        },
      ]),
    ),
  },
  workflows: {
    ...Object.fromEntries(Object.entries(tasks).map(([name, work]) => [name, workflow(name, work)])),
    ...workflows,
  },
});
