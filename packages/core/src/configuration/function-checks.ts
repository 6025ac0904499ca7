import { parseDuration } from '@belay/contract/durations';
import type { CallCheck, Issue } from '@belay/workflow';
import { z } from 'zod';
import { address } from './schema.js';

/** An expression. Its value is computed at run time and cannot be checked earlier. */
const expression = z.string().regex(/^\s*\$\{[\s\S]*\}\s*$/);
const durationText = z.union([
  expression,
  z.string().refine(isDuration, 'is not a duration: use ISO 8601 (PT1H30M) or the short form (1h30m)'),
]);

function isDuration(text: string): boolean {
  try {
    return parseDuration(text) > 0;
  } catch {
    return false;
  }
}

const names = z.array(z.string().min(1)).default([]);
const addresses = z.array(z.union([expression, address])).default([]);

const mostStages = 8;

/**
 * The schema of `with` of `access.approve`. An empty set of approvers or a count of zero would let a request pass without approval, so both
 * are rejected (docs/architecture.md, section 12).
 */
export const approveWith = z.strictObject({
  stages: z
    .array(
      z.strictObject({
        approvers: z
          .strictObject({ users: addresses, groups: names })
          .refine(
            (approvers) => approvers.users.length + approvers.groups.length > 0,
            'must name at least one approver',
          ),
        count: z.int().min(1).max(20).default(1),
        refusals: z.int().min(1).max(20).default(1),
        distinct: z.boolean().optional(),
        timeout: durationText.optional(),
      }),
    )
    .min(1, 'must have at least one stage')
    .max(mostStages, `must have at most ${mostStages} stages`),
  notify: z
    .strictObject({ provider: z.string().min(1), to: z.string().min(1), message: z.string().optional() })
    .optional(),
});

export const grantWith = z.strictObject({ duration: durationText.optional() });
const revokeWith = z.strictObject({ reason: z.string().optional() });
export const notifyWith = z.strictObject({
  provider: z.string().min(1),
  to: z.string().min(1),
  title: z.string().optional(),
  message: z.string().min(1),
});
const nothing = z.strictObject({});

function checkWith(schema: z.ZodType): CallCheck {
  return (value) => {
    const result = schema.safeParse(value ?? {});
    if (result.success) return [];
    return result.error.issues.map(
      (issue): Issue => ({
        code: 'ERR_INVALID_WITH',
        path: issue.path.length === 0 ? '' : `/${issue.path.map(String).join('/')}`,
        message: issue.message,
      }),
    );
  };
}

/** The schema of `with` of each function that a workflow may call (docs/architecture.md, section 12). */
export const functionSchemas = {
  'access.validate': nothing,
  'access.approve': approveWith,
  'access.grant': grantWith,
  'access.hold': nothing,
  'access.revoke': revokeWith,
  'access.notify': notifyWith,
};

/** The functions of the default catalog that a workflow may call, with the static check of their `with`. */
export const functionChecks: { [name: string]: CallCheck } = Object.fromEntries(
  Object.entries(functionSchemas).map(([name, schema]) => [name, checkWith(schema)]),
);
