import { type ConnectorRegistry, encryptionConfig, languageModelConfig, vaultConfig } from '@belay/providers';
import { describeWorkflow } from '@belay/workflow';
import { z } from 'zod';
import { functionSchemas } from './function-checks.js';
import { catalogSchema } from './schema.js';

type JsonSchema = Record<string, unknown>;

/** The formats that are kept: zod also writes formats that JSON Schema does not have. */
const formats = new Set(['uri', 'email', 'uuid', 'date-time', 'ipv4', 'ipv6', 'hostname']);
const reference = { $ref: '#/definitions/reference' };
const sections: Readonly<Record<string, string>> = {
  version: 'A number or a string of your choice',
  server: 'Limits, addresses that a login may return to, and hosts that workflows may call',
  services: 'Keys, a vault and a language model (docs/guides/services.md)',
  events: 'Programs that may send events to workflows',
  access: 'Administrators and auditors',
  messages: 'Notifications outside of Belay (docs/guides/notifications.md)',
  providers: 'Systems where people sign in, where access is held, and that deliver messages',
  roles: 'What people can request',
  workflows: 'What happens to a request (docs/guides/workflow-authors.md)',
};

/**
 * Returns the shape of a configuration file as JSON Schema (draft 7), for editors and other tools, made from the
 * schemas that check it. Names that refer to other parts, and what a connector decides, are checked only by
 * `compileCatalog`, as in `belay validate`.
 */
export function describeConfiguration(connectors: ConnectorRegistry): JsonSchema {
  const whole = describe(catalogSchema) as { properties: Record<string, JsonSchema> };
  const { workflow, definitions } = describeWorkflow(functionSchemas);
  for (const [name, description] of Object.entries(sections))
    Object.assign(whole.properties[name] ?? {}, { description });
  const entryOf = (section: string) => whole.properties[section]?.additionalProperties as { properties: JsonSchema };
  const provider = entryOf('providers');
  provider.properties.provider = {
    description: 'The type of the system',
    oneOf: [...connectors.values()].map(({ type, description }) => ({ const: type, description })),
  };
  Object.assign(provider, {
    allOf: [...connectors.values()].map(({ type, config }) => settingsOf(type, describe(config))),
  });
  entryOf('workflows').properties.workflow = { $ref: '#/definitions/workflow' };
  const services = whole.properties.services as { properties: JsonSchema };
  for (const [name, config] of Object.entries({
    encryption: encryptionConfig,
    llm: languageModelConfig,
    vault: vaultConfig,
  })) {
    services.properties[name] = allowReferences(describe(config));
  }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Belay configuration',
    ...whole,
    definitions: {
      reference: {
        description: 'A secret of the environment or the vault',
        type: 'string',
        pattern: '\\$\\{(env|vault):[^}]+\\}',
      },
      workflow,
      ...definitions,
    },
  };
}

/** Returns the condition that an enabled provider of a type has its settings. A disabled provider may lack them. */
function settingsOf(type: string, described: JsonSchema): JsonSchema {
  const settings = allowReferences(described) as JsonSchema;
  const needed = Array.isArray(described.required) && described.required.length > 0;
  return {
    if: { properties: { provider: { const: type }, enabled: { not: { const: false } } }, required: ['provider'] },
    then: { properties: { config: settings }, ...(needed && { required: ['config'] }) },
  };
}

/**
 * The registry of zod without the ids of schemas. The ids belong to the OpenAPI document, and whether they are registered depends on which
 * modules the process has loaded.
 */
const unnamed = {
  get(schema: z.ZodType) {
    const { id: _id, ...known } = z.globalRegistry.get(schema) ?? {};
    return known;
  },
} as typeof z.globalRegistry;

function describe(schema: z.ZodType): JsonSchema {
  const {
    $schema: _draft,
    definitions: _definitions,
    ...described
  } = z.toJSONSchema(schema, {
    metadata: unnamed,
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (!formats.has(String(jsonSchema.format))) delete jsonSchema.format;
      // Patterns in JSON Schema have no flags. Without its flags a pattern would reject what Belay accepts, so it is
      // left out.
      const patterns = (zodSchema._zod.bag as { patterns?: Set<RegExp> }).patterns ?? new Set();
      // A conversion before the check may add settings, as a preset does, so no key is required.
      if (zodSchema instanceof z.ZodPipe && zodSchema.in instanceof z.ZodTransform) delete jsonSchema.required;
      if (![...patterns].some(({ flags }) => /[is]/.test(flags))) return;
      delete jsonSchema.pattern;
      delete jsonSchema.allOf;
    },
  });
  return withoutRecursion(described) as JsonSchema;
}

/** Replaces references to definitions that zod made for `z.json()` by a schema that permits anything. */
function withoutRecursion(described: unknown): unknown {
  if (Array.isArray(described)) return described.map(withoutRecursion);
  if (described === null || typeof described !== 'object') return described;
  if ('$ref' in described && String(described.$ref).startsWith('#/definitions/__schema')) return {};
  return Object.fromEntries(Object.entries(described).map(([key, value]) => [key, withoutRecursion(value)]));
}

/** Permits a reference wherever a text must have a form: the form applies to the value that replaces the reference. */
function allowReferences(described: unknown): unknown {
  if (Array.isArray(described)) return described.map(allowReferences);
  if (described === null || typeof described !== 'object') return described;
  const { propertyNames, ...rest } = described as JsonSchema;
  const inner = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, allowReferences(value)]));
  const whole = propertyNames === undefined ? inner : { ...inner, propertyNames };
  const formed = ['pattern', 'format', 'allOf', 'enum', 'maxLength'].some((key) => key in rest);
  return rest.type === 'string' && formed ? { anyOf: [whole, reference] } : whole;
}
