import { z } from 'zod';
import { duration, name, reason, someNames } from './fields.js';
import { mutation } from './operation.js';

const runRequest = z.strictObject({
  role: name,
  providers: someNames.optional().describe('Default: all providers of the role'),
  workflow: name.optional().describe("One of the role's workflows; default: its first"),
  reason: reason.optional().describe('Required, unless the role makes it optional or access is joined'),
  duration: duration.optional(),
  lease: duration.optional().describe('How long the heartbeat may be missing; default PT1M, from PT30S to PT15M'),
});
/** A request to run a command with the access of a role. */
export type RunRequest = z.input<typeof runRequest>;

export const run = z.object({
  run_id: z.string(),
  execution_id: z.string(),
  joined: z.boolean().describe('Whether an earlier request is used instead of a new one'),
  lease: z.string().describe('ISO 8601 duration: how long the heartbeat may be missing'),
  beat: z.string().describe('ISO 8601 duration: the pause between two heartbeats'),
});
/** A run that has started: it ends by itself when its heartbeat is missing for the lease. */
export type Run = z.infer<typeof run>;

export const beat = z.object({ status: z.enum(['ok']), run_id: z.string() });
export type Beat = z.infer<typeof beat>;

export const runEnd = z.object({
  run_id: z.string(),
  execution_id: z.string(),
  outcome: z
    .enum(['given_back', 'in_use', 'left'])
    .describe('given_back: the access ends; in_use: another run uses it; left: no run requested it'),
});
/** What became of the access when a run ended. */
export type RunEnd = z.infer<typeof runEnd>;

const oneRun = z.strictObject({ run_id: name });

export const runOperations = {
  start: mutation({ input: runRequest, output: run }),
  beat: mutation({ input: oneRun, output: beat }),
  end: mutation({ input: oneRun, output: runEnd }),
};
