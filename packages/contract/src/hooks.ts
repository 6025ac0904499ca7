import { z } from 'zod';
import { name } from './fields.js';
import { limits } from './limits.js';
import { mutation } from './operation.js';

export const hookOperations = {
  receive: mutation({
    input: z.strictObject({
      provider: name.describe('Name of the provider in the configuration'),
      body: z.string().min(1).max(limits.event).describe('What the provider signed, exactly as it sent it'),
    }),
    output: z.record(z.string(), z.unknown()).describe('The response that the provider expects'),
  }),
};
