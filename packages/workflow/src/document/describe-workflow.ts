import { z } from 'zod';
import { taskList, taskSchemas, workflowSchema } from './definition.js';

type JsonSchema = Record<string, unknown>;

/**
 * Returns the shape of a workflow's document as JSON Schema (draft 7) for editors, and the definitions that it refers
 * to. `calls` has the schema of `with` for each function, by name. Only `parseWorkflow` checks expressions, and parts
 * that have several forms.
 */
export function describeWorkflow(calls: Readonly<Record<string, z.ZodType>>): {
  workflow: JsonSchema;
  definitions: Record<string, JsonSchema>;
} {
  const kinds = Object.entries(taskSchemas).map(([kind, schema]) => [kind, describe(schema)] as const);
  const withs = Object.entries(calls).map(([name, schema]) => ({
    if: { properties: { call: { const: name } } },
    then: { properties: { with: describe(schema) } },
  }));
  const definitions = Object.fromEntries(
    kinds.map(([kind, schema]) => [`${kind}Task`, kind === 'call' ? { ...schema, allOf: withs } : schema]),
  );
  // `if` and `then` by the key of a task let an editor report the errors of that kind; `anyOf` would only say that nothing matches.
  const [last, ...others] = kinds.map(([kind]) => kind).reverse();
  const task = others.reduce<JsonSchema>(
    (otherwise, kind) => ({
      if: { type: 'object', required: [kind] },
      then: { $ref: `#/definitions/${kind}Task` },
      else: otherwise,
    }),
    { $ref: `#/definitions/${last}Task` },
  );
  const tasks = {
    type: 'array',
    items: {
      type: 'object',
      minProperties: 1,
      maxProperties: 1,
      additionalProperties: { $ref: '#/definitions/task' },
    },
  };
  return { workflow: describe(workflowSchema), definitions: { ...definitions, task, tasks } };
}

function describe(schema: z.ZodType): JsonSchema {
  const { $schema: _draft, ...described } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema !== taskList) return;
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
      jsonSchema.$ref = '#/definitions/tasks';
    },
  });
  return described;
}
