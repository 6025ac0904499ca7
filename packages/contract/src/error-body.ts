import { z } from 'zod';
import { errorCodes, publishedCodes } from './errors.js';

export const errorCode = z.enum(errorCodes).describe('Identifies the error to programs');

/** The body of every error; `ErrorBody` of errors.ts is its type. */
export const error = z
  .object({
    message: z.string().describe('Explains the error to people'),
    code: z.enum(publishedCodes).describe('Identifies the error to programs; there is one for each status'),
    issues: z
      .array(
        z.object({
          path: z.string().describe('The field, for example `input.providers[0]`; empty for the whole input'),
          message: z.string(),
        }),
      )
      .optional()
      .describe('What is wrong with the input; always there with 400'),
  })
  .describe('The body of every error');
