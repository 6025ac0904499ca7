import { z } from 'zod';
import { instant, name, remark } from './fields.js';
import { limits } from './limits.js';
import { mutation, query } from './operation.js';

export const apiConfiguration = z.object({
  serviceName: z.string(),
  serviceType: z.string(),
  version: z.string(),
  baseUrl: z.string(),
  apiBasePath: z.string(),
  authEndpoint: z.string(),
  authMethods: z.array(z.string()),
  docsUrl: z.string(),
  openApiSpec: z.string(),
  deviceEndpoint: z.string().describe('Where a machine without a browser begins to sign in (RFC 8628)'),
  capabilities: z.object({ workflow_engine: z.boolean(), vault: z.boolean() }),
});
/** What `/.well-known/api-configuration` returns. */
export type ApiConfiguration = z.infer<typeof apiConfiguration>;

export const agentEnvironment = z.strictObject({ name, description: remark });
export type AgentEnvironment = z.input<typeof agentEnvironment>;

const agentCheck = z.strictObject({ name, ok: z.boolean(), message: remark.optional() });
export type AgentCheck = z.infer<typeof agentCheck>;

export const agentReport = z.strictObject({
  environment: agentEnvironment.optional(),
  version: name.optional().describe("Version of the agent's program"),
  catalog_version: name.optional().describe('Version of the configuration that the agent has'),
  checks: z.array(agentCheck).max(limits.checks).optional(),
});
export type AgentReport = z.input<typeof agentReport>;

export const agentReported = z.object({
  success: z.boolean().describe('True when the report was stored and no check in it failed'),
  version: z.string(),
  timestamp: instant,
  catalog_version: z.string(),
  current: z.boolean().describe('Whether the agent has the current configuration'),
});
export type AgentReported = z.infer<typeof agentReported>;

export const configurationSignature = z
  .object({
    key: z.object({ kid: z.string(), x: z.string() }),
    announced: z.array(z.string()).describe('Statements in which older keys name this key as their successor'),
    statement: z.string().describe('JWS (EdDSA) over the version and the digest of all other fields'),
  })
  .describe('Signature by the key that an agent pins when it enrols');
/** Signature by the key that an agent pins when it enrols. */
export type ConfigurationSignature = z.infer<typeof configurationSignature>;

// `exactOptional`: what an agent verifies is the digest of exactly these fields.
const audience = z.object({ users: z.array(z.string()).exactOptional(), groups: z.array(z.string()).exactOptional() });

export const workflowStep = z.object({
  name: z.string(),
  path: z.string().describe('JSON pointer into the document, such as /do/0/validate'),
  task: z.string(),
  call: z.string().exactOptional(),
});
/** A task of a workflow. */
export type WorkflowStep = z.infer<typeof workflowStep>;

export const agentRole = z.object({
  name: z.string(),
  description: z.string(),
  providers: z.array(z.string()),
  workflows: z.array(z.string()),
  enabled: z.boolean(),
  permissions: audience.exactOptional(),
  max_duration: z.string(),
  default_duration: z.string(),
  reason: z.object({ required: z.boolean(), pattern: z.string().exactOptional() }),
});
/** A role as agents get it. */
export type AgentRole = z.infer<typeof agentRole>;

export const agentProvider = z.object({
  name: z.string(),
  provider: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  capabilities: z.array(z.string()),
  permissions: audience.exactOptional(),
});
/** A provider as agents get it. */
export type AgentProvider = z.infer<typeof agentProvider>;

export const agentWorkflow = z.object({
  name: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  steps: z.array(workflowStep),
});
/** A workflow as agents get it. */
export type AgentWorkflow = z.infer<typeof agentWorkflow>;

export const agentDefinitions = z.object({
  services: z.object({
    workflow_engine: z.object({ enabled: z.boolean(), namespace: z.string(), task_queue: z.string() }),
    llm: z.object({ enabled: z.boolean(), provider: z.string() }),
  }),
  roles: z.object({ definitions: z.record(z.string(), agentRole) }),
  providers: z.object({ definitions: z.record(z.string(), agentProvider) }),
  workflows: z.object({ definitions: z.record(z.string(), agentWorkflow) }),
});
/** The whole configuration, without its version and signatures. */
export type AgentDefinitions = z.infer<typeof agentDefinitions>;

export const registration = z.object({
  success: z.boolean(),
  ...agentDefinitions.shape,
  catalog_version: z.string(),
  signature: configurationSignature,
});
/** The whole configuration, as an agent gets it. */
export type Registration = z.infer<typeof registration>;

export const sync = z.object({
  version: z.string(),
  timestamp: instant,
  catalog_version: z.string(),
  signature: configurationSignature,
});
export type Sync = z.infer<typeof sync>;

export const configurationOperations = {
  describe: query({ output: apiConfiguration }),
  preflight: mutation({ input: agentReport, output: agentReported }),
  register: mutation({ input: z.strictObject({ environment: agentEnvironment }), output: registration }),
  postflight: mutation({ input: agentReport, output: agentReported }),
  adopt: mutation({
    input: z.strictObject({ credential: z.string().regex(/^belay-agent\.[A-Za-z0-9_-]{43}$/) }),
    output: z.object({ success: z.boolean(), expires_at: instant }),
  }),
  sync: query({ output: sync }),
};
