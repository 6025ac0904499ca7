import type { z } from 'zod';
import { Retryable } from '../errors.js';
import { type HttpAnswer, parseAnswer } from '../http/answer.js';
import type { HttpClient } from '../http/client.js';
import { nextByCursor, readPages } from '../http/pages.js';
import { type Binding, bindingList } from './objects.js';

/** Objects in one page: many, so that a list is read before its version expires. */
const pageSize = '500';
/** How many times a list is tried when the server no longer has its version (410). */
const tries = 3;

interface Page<T> {
  metadata: { continue?: string | undefined };
  items: T[];
}

/** Yields all objects of a list, as of one moment: without a `resourceVersion`, the server reads from a quorum of etcd. */
export async function* readAll<T>(
  client: HttpClient,
  path: string,
  query: Record<string, string>,
  schema: z.ZodType<Page<T>>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  for (let tried = 1; ; tried += 1) {
    const items = await readOnce(client, path, query, schema, signal);
    if (items) {
      yield* items;
      return;
    }
    if (tried === tries) throw new Retryable('The cluster could not return a list as it was at one moment');
  }
}

/** Returns undefined when the server no longer has the version of the first page. */
async function readOnce<T>(
  client: HttpClient,
  path: string,
  query: Record<string, string>,
  schema: z.ZodType<Page<T>>,
  signal: AbortSignal,
): Promise<T[] | undefined> {
  const asked = { service: 'The cluster', method: 'GET', path };
  const parse = ({ body }: HttpAnswer) => parseAnswer(schema, body, asked);
  const next = nextByCursor('continue', (body) => parseAnswer(schema, body, asked).metadata.continue);
  const items: T[] = [];
  const first = { method: 'GET' as const, path, query: { ...query, limit: pageSize }, accept: [404, 410] };
  for await (const answer of readPages(
    client,
    first,
    (last, call) => (last.status === 200 ? next(last, call) : undefined),
    signal,
  )) {
    if (answer.status === 410) return undefined;
    // 404 means that the whole API does not exist: for a namespace that does not exist, the list is empty.
    if (answer.status === 404) return [];
    items.push(...parse(answer).items);
  }
  return items;
}

/** Yields the bindings of a scope, or those that a selector chooses. */
export function readBindings(
  client: HttpClient,
  path: string,
  query: Record<string, string>,
  signal: AbortSignal,
): AsyncGenerator<Binding> {
  return readAll(client, path, query, bindingList, signal);
}
