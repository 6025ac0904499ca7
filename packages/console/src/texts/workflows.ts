import type { Inserted } from './inserted.js';

export const workflows = {
  workflows: 'Workflows',
  lead: 'How requests are decided and carried out. Each role names the workflows that its requests can use.',
  empty: 'No workflows that you can start',
  steps: 'Steps',
  details: 'Details',
  approvers: 'Approvers',
  version: 'Version',
  namespace: 'Namespace',
  language: 'Language',
  serverlessWorkflowDsl: (dsl: Inserted) => `Serverless Workflow DSL ${dsl}`,
  revocationNote: 'Revoking access is not a task of the workflow: access ends on time even if the workflow fails.',
  definition: 'Definition',
} as const;
