import { z } from 'zod';
import { name } from './fields.js';
import { limits } from './limits.js';
import { mutation } from './operation.js';

export const eventOperations = {
  receive: mutation({
    input: z.strictObject({
      source: name.describe('Name of the source in the configuration'),
      event: z
        .string()
        .min(1)
        .max(limits.event)
        .describe('CloudEvent 1.0 as JSON; `subject` is the id of the execution'),
    }),
    output: z.object({ status: z.literal('accepted') }),
  }),
};
