import { z } from 'zod';
import { Retryable } from '../errors.js';
import { type HttpAnswer, parseAnswer, timeOf } from '../http/answer.js';
import { type HttpCall, type HttpClient, openHttpClient, path } from '../http/client.js';
import { readPages } from '../http/pages.js';
import { tokenCredentials } from '../http/tokens.js';
import type { ConnectorTools } from '../port.js';
import type { EntraConfig } from './config.js';
import { fetchToken, readPermissions } from './token.js';

const userSchema = z.object({
  id: z.string().min(1),
  userPrincipalName: z.string().min(1),
  displayName: z.string().nullish(),
  mail: z.string().nullish(),
  accountEnabled: z.boolean().nullish(),
  userType: z.string().nullish(),
});
export type User = z.infer<typeof userSchema>;

const select = 'id,userPrincipalName,displayName,mail,accountEnabled,userType';
const listSchema = z.object({
  value: z.array(z.unknown()),
  '@odata.nextLink': z.string().optional(),
  nextLink: z.string().optional(),
});
const errorSchema = z.object({ error: z.object({ code: z.string().default(''), message: z.string().default('') }) });

/** Microsoft Graph and Azure Resource Manager, as far as the connector needs them. Each call throws `Retryable` or `Terminal`. */
export interface Api {
  graph: HttpClient;
  azure: HttpClient;
  /** Yields the items of a list with the time of the response; none when the object that has the list does not exist. */
  list<T>(
    client: HttpClient,
    call: Omit<HttpCall, 'method'>,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): AsyncGenerator<Item<T>>;
  user(id: string, signal: AbortSignal): Promise<User | null>;
  users(filter: string | undefined, signal: AbortSignal): AsyncGenerator<User>;
  endSignIns(user: string, signal: AbortSignal): Promise<void>;
  /** Returns the permissions that the app has at Graph; undefined when its token cannot be read. */
  permissions(signal: AbortSignal): Promise<string[] | undefined>;
  close(): Promise<void>;
}

export interface Item<T> {
  item: T;
  /** The provider's own time, in milliseconds since 1970; undefined when the response has no valid date. */
  time: number | undefined;
}

/** Opens the APIs of a tenant, each with tokens of its own. */
export async function openApi(config: EntraConfig, { now, budget }: ConnectorTools): Promise<Api> {
  const { login, graph: graphUrl, resource_manager: azureUrl } = config.endpoints;
  const sts = await openHttpClient({ service: 'Entra', url: login, now, budget, family: 'tokens' });
  const fetchFor = (api: string) => (signal: AbortSignal) => fetchToken(config, sts, now, api, signal);
  const open = (service: string, url: string) => {
    const credentials = tokenCredentials({ now, fetch: fetchFor(origin(url)) });
    const explain = (answer: HttpAnswer) => explainStranger(service, answer);
    return openHttpClient({ service, url, now, budget, family: service, credentials, explain });
  };
  const graph = await open('Microsoft Graph', graphUrl);
  const azure = await open('Azure', azureUrl);

  async function* list<T>(
    client: HttpClient,
    call: Omit<HttpCall, 'method'>,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): AsyncGenerator<Item<T>> {
    const asked = { service: client === graph ? 'Microsoft Graph' : 'Azure', method: 'GET', path: call.path };
    const first: HttpCall = { ...call, method: 'GET', accept: [404] };
    const read = (body: unknown) => parseAnswer(listSchema, body, asked);
    const next = ({ status, body }: HttpAnswer, { query: _, ...rest }: HttpCall) => {
      if (status === 404) return undefined;
      const { '@odata.nextLink': link, nextLink = link } = read(body);
      return nextLink === undefined ? undefined : { ...rest, path: nextLink };
    };
    for await (const answer of readPages(client, first, next, signal)) {
      if (answer.status === 404) continue;
      const time = timeOf(answer);
      for (const value of read(answer.body).value) yield { item: parseAnswer(schema, value, asked), time };
    }
  }

  return {
    graph,
    azure,
    list,
    user: (id, signal) =>
      graph.find(
        { method: 'GET', path: path`/v1.0/users/${id}`, query: { $select: select }, schema: userSchema },
        signal,
      ),
    async *users(filter, signal) {
      const query = { $select: select, $top: 200, $filter: filter };
      for await (const { item } of list(graph, { path: '/v1.0/users', query }, userSchema, signal)) yield item;
    },
    async endSignIns(user, signal) {
      await graph.send({ method: 'POST', path: path`/v1.0/users/${user}/revokeSignInSessions`, accept: [404] }, signal);
    },
    permissions: async (signal) => readPermissions((await fetchFor(origin(graphUrl))(signal)).token),
    async close() {
      await Promise.all([sts.close(), graph.close(), azure.close()]);
    },
  };
}

const origin = (url: string) => new URL(url).origin;

/** Returns the code and the message of a rejection. They may only be compared, not shown: a message can contain any data. */
export function errorOf({ body }: HttpAnswer): { code: string; message: string } {
  return errorSchema.safeParse(body).data?.error ?? { code: '', message: '' };
}

/** Returns `Retryable` for a 404 without the vendor's error code: a 404 of a proxy does not show that the object is missing. */
function explainStranger(service: string, answer: HttpAnswer): Retryable | undefined {
  if (answer.status !== 404 || errorOf(answer).code !== '') return undefined;
  return new Retryable(`${service} returned a response that its API does not document`);
}

/** Throws `Retryable` for a success other than Graph's 204: a page of a proxy does not show that the change was made. */
export function refuseUnlessEmpty({ status }: HttpAnswer): void {
  if (status !== 204) throw new Retryable('Microsoft Graph returned a response that its API does not document');
}
