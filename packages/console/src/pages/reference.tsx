import type { OpenApiDocument } from '@belay/api';
import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { isRecord } from './approvers.js';
import type { Page } from './view.js';

interface Operation {
  method: string;
  path: string;
  summary: string;
  tag: string;
  open: boolean;
  parameters: Parameter[];
  bodies: [type: string, media: Record<string, unknown>][];
  responses: [status: string, response: Record<string, unknown>][];
}

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description: string;
  schema: unknown;
}

/** The prefix of the anchors of shapes, which no section's anchor starts with. */
const anchor = 'shape-';

/** Renders the OpenAPI document as a page, with the operations by section. */
export function referencePage(document: OpenApiDocument, basePath: string): Page {
  const operations = operationsIn(document);
  const tags = document.tags ?? [];
  const shapes = Object.entries(document.components?.schemas ?? {});
  return {
    title: texts.reference.apiReference,
    content: (
      <>
        <p class="lead">
          {texts.reference.leadStart} <a href={`${basePath}/openapi.json`}>{texts.reference.openapiDocument}</a>
          {texts.reference.leadPaths}
          <code>{basePath}</code>
          {texts.reference.leadAuthentication}
          <code>{texts.reference.authorizationBearer}</code>
          {texts.reference.leadToken}
          <code>{texts.reference.belayLogin}</code>.
        </p>
        <nav aria-label={texts.reference.sections}>
          <ul class="parts">
            {tags.map(({ name }) => (
              <li key={name}>
                <a href={`#${name}`}>{name}</a>
              </li>
            ))}
            <li>
              <a href="#shapes">{texts.reference.shapes}</a>
            </li>
          </ul>
        </nav>
        {tags.map(({ name, description }) => (
          <Section key={name} id={name} title={sentence(name)} lead={description}>
            {operations
              .filter(({ tag }) => tag === name)
              .map((operation) => (
                <li key={`${operation.method} ${operation.path}`} class="card">
                  <OperationCard operation={operation} />
                </li>
              ))}
          </Section>
        ))}
        <Section id="shapes" title={sentence(texts.reference.shapes)} lead={texts.reference.shapesLead}>
          {shapes.map(([name, schema]) => (
            <li key={name} class="card">
              <h3 id={`${anchor}${name}`}>
                <code>{name}</code>
              </h3>
              {contentOf(schema) === undefined && formsOf(schema).length === 0 && (
                <p>
                  <Type schema={schema} />
                </p>
              )}
              <Fields schema={schema} depth={0} />
            </li>
          ))}
        </Section>
      </>
    ),
  };
}

/**
 * Renders one part of the page, folded, because all parts unfolded are fifty screens long. Some browsers unfold the part that a link leads
 * into; in all browsers, links can lead to its heading.
 */
function Section(props: { id: string; title: string; lead: string | undefined; children: VNode[] }): VNode {
  return (
    <section aria-labelledby={props.id}>
      <h2 id={props.id}>{props.title}</h2>
      <p class="quiet">{props.lead}</p>
      <details>
        <summary>
          {texts.reference.entries(props.children.length)}
          <span class="hidden-text">: {props.title}</span>
        </summary>
        <ul class="cards">{props.children}</ul>
      </details>
    </section>
  );
}

function OperationCard({ operation }: { operation: Operation }): VNode {
  const { method, path, parameters, bodies, responses } = operation;
  return (
    <>
      <h3>
        <span class="badge">{method}</span> <code>{path}</code>
      </h3>
      <p>
        {operation.summary}
        {operation.open && <span class="quiet">{texts.reference.noAuthentication}</span>}
      </p>
      <details>
        <summary>
          {texts.reference.details}
          <span class="hidden-text">: {`${method} ${path}`}</span>
        </summary>
        {parameters.length > 0 && (
          <>
            <h4>{texts.reference.parameters}</h4>
            <ul>
              {parameters.map((parameter) => (
                <li key={`${parameter.in} ${parameter.name}`}>
                  <code>{parameter.name}</code>
                  {texts.reference.inThe}
                  {parameter.in}: <Type schema={parameter.schema} />
                  {parameter.required && texts.reference.required}
                  {parameter.description !== '' && `. ${parameter.description}`}
                </li>
              ))}
            </ul>
          </>
        )}
        {bodies.length > 0 && (
          <>
            <h4>{texts.reference.body}</h4>
            <p class="quiet">{bodies.map(([type]) => type).join(', ')}</p>
            <Content media={bodies[0]?.[1]} />
          </>
        )}
        <h4>{texts.reference.responses}</h4>
        <ul>
          {responses.map(([status, response]) => (
            <li key={status}>
              <strong>{status}</strong> {String(response.description ?? '')}
              {status.startsWith('2') && <Content media={jsonOf(response)} />}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

/** Renders the shape of a body and an example of it. */
function Content({ media }: { media: Record<string, unknown> | undefined }): VNode | null {
  if (media === undefined) return null;
  return (
    <>
      {shapeOf(media.schema) !== undefined && (
        <p>
          <Type schema={media.schema} />
        </p>
      )}
      <Fields schema={media.schema} depth={0} />
      {media.example !== undefined && (
        <pre>
          <code>{typeof media.example === 'string' ? media.example : JSON.stringify(media.example, null, 2)}</code>
        </pre>
      )}
    </>
  );
}

/** Renders a type in words; a named shape is a link to its fields. */
function Type({ schema }: { schema: unknown }): VNode {
  const name = shapeOf(schema);
  if (name !== undefined) return <a href={`#${anchor}${name}`}>{name}</a>;
  const item = isRecord(schema) && schema.type === 'array' ? shapeOf(schema.items) : undefined;
  if (item === undefined) return <>{typeOf(schema)}</>;
  return (
    <>
      {texts.reference.listOf('')}
      <a href={`#${anchor}${item}`}>{item}</a>
    </>
  );
}

/** Returns the name of the shape that a schema references. */
function shapeOf(schema: unknown): string | undefined {
  return isRecord(schema) && typeof schema.$ref === 'string' ? schema.$ref.replace(/^.*\//, '') : undefined;
}

const deepest = 4;

/** Renders the fields of an object and of its nested objects. */
function Fields({ schema, depth }: { schema: unknown; depth: number }): VNode | null {
  const forms = formsOf(schema);
  if (forms.length > 1 && depth <= deepest) {
    return (
      <>
        {forms.map((form, index) => (
          <div key={JSON.stringify(form)}>
            <p class="quiet">{index === 0 ? texts.reference.either : texts.reference.or}</p>
            <Fields schema={form} depth={depth} />
          </div>
        ))}
      </>
    );
  }
  const inner = contentOf(schema);
  if (inner === undefined || depth > deepest) return null;
  const required = Array.isArray(inner.required) ? (inner.required as unknown[]) : [];
  return (
    <ul>
      {Object.entries(inner.properties).map(([name, value]) => (
        <li key={name}>
          <code>{name}</code>: <Type schema={value} />
          {required.includes(name) ? '' : texts.reference.optional}
          {isRecord(value) && typeof value.description === 'string' && `. ${value.description}`}
          <Fields schema={value} depth={depth + 1} />
        </li>
      ))}
    </ul>
  );
}

/** Returns the alternatives of a schema that are objects. */
function formsOf(schema: unknown): unknown[] {
  const choices = isRecord(schema) ? (schema.anyOf ?? schema.oneOf) : undefined;
  return Array.isArray(choices)
    ? (choices as unknown[]).filter((choice) => isRecord(choice) && 'properties' in choice)
    : [];
}

/**
 * Returns the object in a schema: itself, the items of a list, the values of a map, or the first alternative that has
 * one.
 */
function contentOf(schema: unknown): { properties: Record<string, unknown>; required?: unknown } | undefined {
  if (!isRecord(schema)) return undefined;
  if (isRecord(schema.properties)) return { properties: schema.properties, required: schema.required };
  const choices = Array.isArray(schema.anyOf ?? schema.oneOf) ? ((schema.anyOf ?? schema.oneOf) as unknown[]) : [];
  for (const inside of [schema.items, schema.additionalProperties, ...choices]) {
    const found = contentOf(inside);
    if (found !== undefined) return found;
  }
  return undefined;
}

function typeOf(schema: unknown): string {
  if (!isRecord(schema)) return 'anything';
  const shape = shapeOf(schema);
  if (shape !== undefined) return shape;
  if (Array.isArray(schema.enum)) return (schema.enum as unknown[]).join(texts.reference.or2);
  if ('const' in schema) return String(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) return [...new Set((choices as unknown[]).map(typeOf))].join(texts.reference.or2);
  if (schema.type === 'array') return texts.reference.listOf(typeOf(schema.items));
  if (isRecord(schema.additionalProperties))
    return texts.reference.objectByNameEach(typeOf(schema.additionalProperties));
  const types = Array.isArray(schema.type) ? (schema.type as unknown[]).join(texts.reference.or2) : schema.type;
  const format = typeof schema.format === 'string' ? ` (${schema.format})` : '';
  return typeof types === 'string' ? `${types}${format}` : 'anything';
}

function jsonOf(holder: Record<string, unknown>): Record<string, unknown> | undefined {
  const content = isRecord(holder.content) ? holder.content['application/json'] : undefined;
  return isRecord(content) ? content : undefined;
}

function operationsIn(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as Record<string, unknown>).flatMap(([method, value]): Operation[] => {
      if (!isRecord(value)) return [];
      const body = isRecord(value.requestBody) && isRecord(value.requestBody.content) ? value.requestBody.content : {};
      return [
        {
          method: method.toUpperCase(),
          path,
          summary: String(value.summary ?? ''),
          tag: Array.isArray(value.tags) ? String(value.tags[0]) : '',
          open: Array.isArray(value.security) && value.security.length === 0,
          parameters: Array.isArray(value.parameters)
            ? (value.parameters as unknown[]).filter(isRecord).map(parameterOf)
            : [],
          bodies: Object.entries(body).map(([type, media]) => [type, isRecord(media) ? media : {}]),
          responses: Object.entries(isRecord(value.responses) ? value.responses : {}).flatMap(([status, response]) =>
            isRecord(response) ? [[status, response] as [string, Record<string, unknown>]] : [],
          ),
        },
      ];
    }),
  );
}

function parameterOf(value: Record<string, unknown>): Parameter {
  return {
    name: String(value.name),
    in: String(value.in),
    required: value.required === true,
    description: typeof value.description === 'string' ? value.description : '',
    schema: value.schema,
  };
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
