import { readFile } from 'node:fs/promises';
import { cutText } from '@belay/contract/text';
import { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';
import { type HttpClient, openHttpClient } from '../http/client.js';
import { type Credentials, fixedCredentials, readCredentials } from '../http/tokens.js';
import type { ConnectorTools, ProviderClient, Weakness } from '../port.js';
import { createAuthorizer } from './authorizer.js';
import { type Connection, connectionOf, type KubernetesConfig } from './config.js';
import { createIdentities } from './identities.js';
import { group } from './objects.js';
import { findObstacles } from './obstacles.js';
import { type Action, findMissing } from './reviews.js';

const bindings = ['rolebindings', 'clusterrolebindings'];
/** Without these nothing can be granted or revoked anywhere. */
const needed: readonly Action[] = [
  { verb: 'get', resource: 'namespaces', group: '', name: 'kube-system' },
  { verb: 'get', resource: 'clusterroles', group },
  ...bindings.flatMap((resource) => ['get', 'list'].map((verb) => ({ verb, resource, group }))),
];
const changing = ['create', 'patch', 'delete'];

/** What the API server returns for a call that it rejects, for example the message of an admission policy. */
const statusSchema = z.object({
  kind: z.literal('Status'),
  message: z.string().transform((text) => cutText(text, 500)),
});

/** Opens the client of a cluster. */
export async function openKubernetes(config: KubernetesConfig, tools: ConnectorTools): Promise<ProviderClient> {
  const connection = connectionOf(config);
  if (!connection) throw new Terminal('The kubeconfig lacks what its current context names');
  const { url, ca, certificate, key } = connection;
  const credentials = credentialsOf(connection);
  const client = await openHttpClient({
    service: 'The cluster',
    url,
    now: tools.now,
    saidOf: ({ body }) => statusSchema.safeParse(body).data?.message,
    budget: tools.budget,
    ...(ca === undefined ? {} : { ca }),
    ...(certificate === undefined || key === undefined ? {} : { clientCertificate: { certificate, key } }),
    ...(credentials && { credentials }),
  });
  return {
    authorizer: createAuthorizer(config, client),
    identities: createIdentities(config),
    async check(signal) {
      const missing = await findMissing(client, needed, signal);
      if (missing.length > 0) throw new Terminal(`The cluster does not permit the connector to ${missing.join(', ')}`);
    },
    weaknesses: (signal) => findWeaknesses(client, signal),
    obstacles: (accesses, signal) => findObstacles(client, { accesses, config }, signal),
    close: () => client.close(),
  };
}

function credentialsOf({ token, tokenFile }: Connection): Credentials | undefined {
  if (token !== undefined) return fixedCredentials(`Bearer ${token}`);
  if (tokenFile === undefined) return undefined;
  return readCredentials(async () => {
    try {
      return `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`;
    } catch (error) {
      throw new Retryable("The connector's token file cannot be read", { cause: error });
    }
  });
}

async function findWeaknesses(client: HttpClient, signal: AbortSignal): Promise<Weakness[]> {
  const wanted = bindings.flatMap((resource) => changing.map((verb) => ({ verb, resource, group })));
  const missing = await findMissing(client, wanted, signal);
  const tooMuch = [
    { verb: 'escalate', resource: 'clusterroles', group },
    { verb: 'bind', resource: 'clusterroles', group },
    { verb: 'get', resource: 'secrets', group: '' },
  ];
  const lacking = await findMissing(client, tooMuch, signal);
  return [
    ...missing.map((one) => ({
      message: `The connector may not ${one} in every namespace, so access of that kind cannot be granted or revoked there`,
      cure: 'Bind the ClusterRole of docs/connectors/kubernetes.md, or grant access in the permitted namespaces only',
    })),
    ...tooMuch
      .map(({ verb, resource }) => `${verb} ${resource}`)
      .filter((one) => !lacking.includes(one))
      .map((one) => ({
        message: `The connector may ${one} without limit, which it does not need`,
        cure: 'Limit it as docs/connectors/kubernetes.md says: bind, with resourceNames, on the roles that Belay grants',
      })),
  ];
}
