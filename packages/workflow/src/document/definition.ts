import { z } from 'zod';
import type { Json } from '../types.js';

// The supported shapes of the DSL. What nests or has several forms is `json` here; the checks in the other files of
// this folder look at it, because they can report the exact place of an error.
const json = z.custom<Json>((value) => value !== undefined, 'is required');
const text = z.string();
const filled = z.string().min(1);
const metadata = z.record(z.string(), json);

const schema = z.strictObject({ format: text.optional(), document: json.optional(), resource: json.optional() });
const input = z.strictObject({ schema: schema.optional(), from: json.optional() });
const output = z.strictObject({ schema: schema.optional(), as: json.optional() });

export const taskList = z.array(z.record(z.string(), json));
const base = {
  if: text.optional(),
  input: input.optional(),
  output: output.optional(),
  export: output.optional(),
  timeout: json.optional(),
  then: filled.optional(),
  metadata: metadata.optional(),
};

const errorFilter = z
  .strictObject({
    type: text.optional(),
    status: z.int().optional(),
    instance: text.optional(),
    title: text.optional(),
    detail: text.optional(),
    details: text.optional(),
  })
  // An empty filter could mean every error or no error, so it is rejected.
  .refine(
    (value) => Object.keys(value).length > 0,
    'must name at least one property; leave it out to catch every error',
  );

/** One strict schema per kind of task; its key is also the key by which the kind of a task is recognised. */
export const taskSchemas = {
  call: z.strictObject({ ...base, call: filled, with: z.record(z.string(), json).optional() }),
  emit: z.strictObject({
    ...base,
    emit: z.strictObject({ event: z.strictObject({ with: z.record(z.string(), json) }) }),
  }),
  for: z.strictObject({
    ...base,
    for: z.strictObject({ each: text.optional(), in: text, at: text.optional() }),
    while: text.optional(),
    do: taskList,
  }),
  fork: z.strictObject({ ...base, fork: z.strictObject({ branches: taskList, compete: z.boolean().optional() }) }),
  listen: z.strictObject({
    ...base,
    listen: z.strictObject({ to: json, read: z.enum(['data', 'envelope', 'raw']).optional() }),
    foreach: z
      .strictObject({
        item: text.optional(),
        at: text.optional(),
        do: taskList.optional(),
        output: output.optional(),
        export: output.optional(),
      })
      .optional(),
  }),
  raise: z.strictObject({ ...base, raise: z.strictObject({ error: json }) }),
  set: z.strictObject({ ...base, set: z.union([z.record(z.string(), json), text]) }),
  switch: z.strictObject({ ...base, switch: z.array(z.record(z.string(), json)).min(1) }),
  try: z.strictObject({
    ...base,
    try: taskList,
    catch: z.strictObject({
      errors: z.strictObject({ with: errorFilter.optional() }).optional(),
      as: text.optional(),
      when: text.optional(),
      exceptWhen: text.optional(),
      retry: json.optional(),
      do: taskList.optional(),
    }),
  }),
  wait: z.strictObject({ ...base, wait: json }),
  // Last, because `for` has a `do` as well.
  do: z.strictObject({ ...base, do: taskList }),
} as const;

export type TaskKindName = keyof typeof taskSchemas;
export type TaskOf<K extends TaskKindName> = z.infer<(typeof taskSchemas)[K]>;
export type Task = TaskOf<TaskKindName>;
export type TaskList = z.infer<typeof taskList>;
export type SchemaDefinition = z.infer<typeof schema>;
export type OutputDefinition = z.infer<typeof output>;

export const switchCaseSchema = z.strictObject({ when: text.optional(), then: filled });

export const errorSchema = z.strictObject({
  type: filled,
  status: z.int().min(100).max(599),
  instance: text.optional(),
  title: text.optional(),
  detail: text.optional(),
});
export type ErrorDefinition = z.infer<typeof errorSchema>;

export const timeoutSchema = z.strictObject({ after: json });

const noSettings = z.strictObject({});
export const retrySchema = z.strictObject({
  when: text.optional(),
  exceptWhen: text.optional(),
  delay: json.optional(),
  backoff: z
    .union([
      z.strictObject({ constant: noSettings }),
      z.strictObject({ linear: noSettings }),
      z.strictObject({ exponential: noSettings }),
    ])
    .optional(),
  limit: z
    .strictObject({
      attempt: z.strictObject({ count: z.int().min(0).optional(), duration: json.optional() }).optional(),
      duration: json.optional(),
    })
    .optional(),
  jitter: z.strictObject({ from: json, to: json }).optional(),
});
export type RetryDefinition = z.infer<typeof retrySchema>;

export const eventFilterSchema = z.strictObject({
  with: z.record(z.string(), json).refine((value) => Object.keys(value).length > 0, 'must name at least one property'),
  correlate: z.record(z.string(), z.strictObject({ from: text, expect: text.optional() })).optional(),
});
export type EventFilter = z.infer<typeof eventFilterSchema>;

export const strategySchema = z.strictObject({
  one: json.optional(),
  any: z.array(json).optional(),
  all: z.array(json).optional(),
  until: json.optional(),
});

export const httpSchema = z.strictObject({
  method: filled,
  endpoint: json.optional(),
  uri: json.optional(),
  headers: z.union([text, z.record(z.string(), json)]).optional(),
  query: z.union([text, z.record(z.string(), json)]).optional(),
  body: json.optional(),
  output: z.enum(['raw', 'content', 'response']).optional(),
  redirect: z.boolean().optional(),
});
export const endpointSchema = z.strictObject({ uri: filled, authentication: json.optional() });
export const authenticationSchema = z.union([
  z.strictObject({ use: filled }),
  z.strictObject({ basic: z.strictObject({ username: text, password: text }) }),
  z.strictObject({ bearer: z.strictObject({ token: text }) }),
]);

const label = z
  .string()
  .regex(
    /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/,
    'must contain only letters, digits and hyphens, at most 63',
  );
const version = z
  .string()
  .regex(/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/, 'must be a semantic version, for example 1.0.0');

export const workflowSchema = z.strictObject({
  document: z.strictObject({
    dsl: version,
    namespace: label,
    name: label,
    version,
    title: text.optional(),
    summary: text.optional(),
    tags: metadata.optional(),
    metadata: metadata.optional(),
  }),
  input: input.optional(),
  use: z
    .strictObject({
      authentications: z.record(z.string(), json).optional(),
      errors: z.record(z.string(), json).optional(),
      functions: z.record(z.string(), json).optional(),
      retries: z.record(z.string(), json).optional(),
      timeouts: z.record(z.string(), json).optional(),
      catalogs: json.optional(),
      extensions: json.optional(),
      secrets: json.optional(),
    })
    .optional(),
  do: taskList,
  timeout: json.optional(),
  output: output.optional(),
  schedule: json.optional(),
  evaluate: z.strictObject({ language: text.optional(), mode: text.optional() }).optional(),
});

/** A checked definition: plain JSON, which is stored and read back unchanged. */
export type Workflow = z.infer<typeof workflowSchema>;
