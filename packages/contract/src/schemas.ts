import { z } from 'zod';
import * as access from './access.js';
import * as admin from './admin.js';
import * as approvals from './approvals.js';
import * as auth from './auth.js';
import * as comments from './comments.js';
import * as configuration from './configuration.js';
import * as elevation from './elevation.js';
import * as errorBody from './error-body.js';
import * as executions from './executions.js';
import * as fields from './fields.js';
import * as logs from './logs.js';
import * as preferences from './preferences.js';
import * as providers from './providers.js';
import * as reviews from './reviews.js';
import * as roles from './roles.js';
import * as runs from './runs.js';
import * as sessions from './sessions.js';
import * as suggestions from './suggestions.js';
import * as system from './system.js';
import * as workflows from './workflows.js';

const modules = [
  access,
  admin,
  approvals,
  auth,
  comments,
  configuration,
  elevation,
  errorBody,
  executions,
  fields,
  logs,
  preferences,
  providers,
  reviews,
  roles,
  runs,
  sessions,
  suggestions,
  system,
  workflows,
];

/**
 * The shapes that the OpenAPI document names: every object, choice and list of values that a module of the contract
 * exports, under the name of its export. `accessGrant` is `AccessGrant`, which is its TypeScript type as well.
 */
export const namedSchemas: ReadonlyMap<string, z.ZodType> = new Map(
  modules.flatMap((module) =>
    Object.entries(module as Record<string, unknown>).flatMap(([name, schema]): [string, z.ZodType][] =>
      schema instanceof z.ZodObject || schema instanceof z.ZodEnum || schema instanceof z.ZodDiscriminatedUnion
        ? [[`${name.charAt(0).toUpperCase()}${name.slice(1)}`, schema]]
        : [],
    ),
  ),
);

/** Names the shapes for the generators of JSON Schema, which look in zod's global registry. */
export function nameSchemas(): void {
  for (const [id, schema] of namedSchemas) z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id });
}

/** Returns the description of a field of a shape; for an optional field without one, the description of its content. */
export function descriptionOf(shape: z.ZodObject | undefined, field: string): string | undefined {
  const described = (schema: unknown): string | undefined => {
    if (!(schema instanceof z.ZodType)) return undefined;
    return schema.description ?? (schema instanceof z.ZodOptional ? described(schema.unwrap()) : undefined);
  };
  return described(shape?.shape[field]);
}
