import { z } from 'zod';
import { done, instant, leavesBehind, name } from './fields.js';
import { mutation, query } from './operation.js';

export const accessGrant = z.object({
  id: z.string(),
  execution_id: z.string(),
  role: z.string(),
  provider: z.string(),
  identity: z.string(),
  access: z.unknown().describe("The access, in the provider's own terms"),
  granted_at: instant.nullable(),
  expires_at: instant.nullable().describe('Null until the access is active'),
  residual: z.string().describe('ISO 8601 duration: how long access can outlive its revocation at most'),
  leaves_behind: leavesBehind,
  pending: z.string().nullable().describe('What the provider is still working on; null when it is not known to be'),
  state: z.enum(['granting', 'active']),
  break_glass: z
    .boolean()
    .describe('Whether the role is for emergencies: each use notifies the people whom its configuration names'),
});
/** Access that a person holds now, or that is being granted. */
export type AccessGrant = z.infer<typeof accessGrant>;

export const accessList = z.object({ access: z.array(accessGrant) });
export type AccessList = z.infer<typeof accessList>;

export const cluster = z.object({
  server: z.string(),
  certificate_authority: z.string().optional().describe('PEM; absent where a public authority signs'),
  namespace: z.string().optional().describe('Absent for access to the whole cluster'),
});
/** Where a Kubernetes cluster is, in the terms of a kubeconfig; without credentials. */
export type Cluster = z.infer<typeof cluster>;

export const connections = z.object({
  connections: z.array(
    z.object({
      provider: z.string(),
      identity: z.string(),
      variables: z
        .record(z.string(), z.string())
        .describe("Environment variables of the system's own tools; no secret"),
      cluster: cluster.optional(),
    }),
  ),
});
/** The settings with which a person connects to the systems where they have access. */
export type Connections = z.infer<typeof connections>;

export const accessOperations = {
  list: query({ output: accessList }),
  connection: query({ input: z.strictObject({ execution_id: name }), output: connections }),
  return: mutation({ input: z.strictObject({ execution_id: name }), output: done }),
};
