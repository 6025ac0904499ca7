import { z } from 'zod';
import { reason } from './fields.js';
import { mutation, query } from './operation.js';

export const suggestedRequest = z.object({
  suggested_role: z.string().describe('Empty when nothing fits'),
  suggested_duration: z.string().describe('ISO 8601 duration'),
  suggested_providers: z.array(z.string()),
  workflow_id: z.string().describe('Name of the workflow that a request would start; nothing has been started'),
});
/** A suggested request, with the field names of the interface. */
export type SuggestedRequest = z.infer<typeof suggestedRequest>;

export const suggestion = z.object({
  status: z.enum(['suggested', 'no_match']),
  output: suggestedRequest.extend({
    matched: z.array(z.string()).describe('Words of the text that led to this suggestion'),
    engine: z.enum(['lexical', 'model']),
    alternatives: z.array(suggestedRequest),
  }),
});
/** How the text of a request was understood. Nothing has been requested. */
export type Suggestion = z.infer<typeof suggestion>;

export const suggestionOperations = {
  suggestForm: query({
    output: z.object({
      method: z.string(),
      fields: z.array(z.object({ name: z.string(), max_length: z.number().int() })),
    }),
  }),
  suggest: mutation({
    input: z.strictObject({ reason: reason.describe('What you want to do, or the error message that you received') }),
    output: suggestion,
  }),
};
