import { z } from 'zod';
import type { Question } from './question.js';

/** The exact shape of a model's response; any additional field makes the whole response invalid. */
export const answerSchema = z.strictObject({
  candidates: z
    .array(
      z.strictObject({
        role: z.string().max(200),
        providers: z.array(z.string().max(200)).max(50),
        duration: z.string().max(64).nullable(),
      }),
    )
    .max(5),
});

/**
 * Returns the same shape as a JSON Schema for the vendor, with the names of the catalog; it uses only keywords that
 * every vendor supports.
 */
export function answerJsonSchema(roles: Question['roles']) {
  return {
    type: 'object' as const,
    additionalProperties: false,
    required: ['candidates'],
    properties: {
      candidates: {
        type: 'array' as const,
        items: {
          type: 'object' as const,
          additionalProperties: false,
          required: ['role', 'providers', 'duration'],
          properties: {
            role: { type: 'string' as const, enum: roles.map(({ name }) => name) },
            providers: { type: 'array' as const, items: { type: 'string' as const } },
            duration: { type: ['string' as const, 'null' as const] },
          },
        },
      },
    },
  };
}
