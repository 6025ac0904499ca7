const document = (name: string) => ({ dsl: '1.0.3', namespace: 'bench', name, version: '1.0.0' });
const approvers = { groups: ['approvers'] };

/** A role with two workflows, with and without an approval; a role at the silent provider; and twenty more, so that lists are longer. */
export const catalogDocument = {
  access: { auditors: { groups: ['auditors'] } },
  server: { limits: { open_requests: 10_000, event_streams: 10_000 } },
  providers: { memory: { provider: 'memory' }, silent: { provider: 'silent' } },
  roles: {
    reader: {
      description: 'May read',
      providers: ['memory'],
      workflows: ['automatic', 'approved'],
      inherits: ['memory:read'],
      permissions: { groups: ['engineers'] },
    },
    'silent-reader': {
      description: 'May read where nothing answers',
      providers: ['silent'],
      workflows: ['automatic'],
      inherits: ['silent:read'],
    },
    ...Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `role-${index}`,
        {
          description: `Role number ${index}`,
          providers: ['memory'],
          workflows: ['approved'],
          inherits: [`memory:role-${index}`],
        },
      ]),
    ),
  },
  workflows: {
    automatic: { workflow: { document: document('automatic'), do: [{ grant: { call: 'access.grant' } }] } },
    approved: {
      workflow: {
        document: document('approved'),
        do: [
          { approve: { call: 'access.approve', with: { stages: [{ approvers }] } } },
          { decide: { switch: [{ refused: { when: '.approved == false', then: 'end' } }] } },
          { grant: { call: 'access.grant' } },
        ],
      },
    },
  },
};
