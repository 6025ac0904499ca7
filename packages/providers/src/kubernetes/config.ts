import { z } from 'zod';
import { emailDomain, endpoint } from '../endpoint.js';

const name = z.string().min(1);
const base64 = z.base64().transform((text) => Buffer.from(text, 'base64').toString('utf8'));
const pem = z.string().regex(/-----BEGIN [A-Z ]+-----/, 'must be in PEM form');

const codeFromConfiguration =
  'is not supported, because it runs a program that the configuration names; use a token, a token_file or a client certificate';

/** One user of a kubeconfig: a token, a token file or a client certificate. */
const kubeconfigUser = z
  .object({
    token: z.string().min(1).optional(),
    tokenFile: z.string().startsWith('/').optional(),
    'client-certificate-data': base64.optional(),
    'client-key-data': base64.optional(),
    exec: z.never({ error: codeFromConfiguration }).optional(),
    'auth-provider': z.never({ error: codeFromConfiguration }).optional(),
  })
  .strict();

const kubeconfigCluster = z.strictObject({ server: endpoint, 'certificate-authority-data': base64.optional() });

/** A kubeconfig that runs no program: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ */
const kubeconfig = z.object({
  'current-context': name,
  contexts: z.array(z.object({ name, context: z.object({ cluster: name, user: name }) })),
  clusters: z.array(z.object({ name, cluster: kubeconfigCluster })),
  users: z.array(z.object({ name, user: kubeconfigUser })),
});

const settings = z.strictObject({
  /** The address of the API server; not with `kubeconfig`. */
  url: endpoint.optional(),
  /** The authority that signs the API server's certificate, when Node.js does not trust it by default. */
  ca: pem.optional(),
  token: z.string().min(1).optional(),
  /** A file that is read for each call: a projected token of a service account. */
  token_file: z.string().startsWith('/', 'must be an absolute path').optional(),
  client_certificate: pem.optional(),
  client_key: pem.optional(),
  /** A kubeconfig in place of the keys above. Its current context is used. */
  kubeconfig: kubeconfig.optional(),
  /** The user as the API server sees it, prefix included, made from a person's e-mail address. */
  username_template: z
    .string()
    .regex(/^[^{}]*\{(email|username)\}[^{}]*$/, 'must contain {email} or {username} once')
    .default('{email}'),
  /** Users by e-mail address, where the template does not apply. */
  users: z.record(z.string(), z.string().min(1)).default({}),
  /** The domains of the addresses from which `{username}` is made. */
  email_domains: z.array(emailDomain).min(1).optional(),
  /** Permits roles whose holder can give themselves more access, act as another user, or keep the access. */
  allow_privileged_roles: z.boolean().default(false),
});

/** The configuration of a provider of type `kubernetes`. */
export const kubernetesConfig = settings
  .refine(({ url, kubeconfig: given }) => (url === undefined) !== (given === undefined), {
    path: ['url'],
    message: 'is required, unless there is a kubeconfig, which replaces it',
  })
  .refine((config) => connectionOf(config) !== undefined, {
    path: ['kubeconfig'],
    message: 'must contain the current context, and the cluster and user that it names',
  })
  .refine((config) => hasOneCredential(connectionOf(config)), {
    path: ['token'],
    message: 'is required, or a token_file, or client_certificate with client_key: exactly one of them',
  })
  .refine(({ username_template: template, email_domains: domains }) => template.includes('{email}') || domains, {
    path: ['email_domains'],
    message: 'is required with {username}, because the part before the @ can repeat in other domains',
  });

export type KubernetesConfig = z.infer<typeof settings>;

export interface Connection {
  url: string;
  ca?: string | undefined;
  token?: string | undefined;
  tokenFile?: string | undefined;
  certificate?: string | undefined;
  key?: string | undefined;
}

/**
 * Returns how to reach the API server; undefined when the kubeconfig lacks its current context, or the cluster or user
 * that the context names.
 */
export function connectionOf(config: z.infer<typeof settings>): Connection | undefined {
  if (!config.kubeconfig) {
    return {
      url: config.url ?? '',
      ca: config.ca,
      token: config.token,
      tokenFile: config.token_file,
      certificate: config.client_certificate,
      key: config.client_key,
    };
  }
  const { contexts, clusters, users, 'current-context': current } = config.kubeconfig;
  const context = contexts.find((each) => each.name === current)?.context;
  const cluster = clusters.find((each) => each.name === context?.cluster)?.cluster;
  const user = users.find((each) => each.name === context?.user)?.user;
  if (!cluster || !user) return undefined;
  return {
    url: cluster.server,
    ca: cluster['certificate-authority-data'],
    token: user.token,
    tokenFile: user.tokenFile,
    certificate: user['client-certificate-data'],
    key: user['client-key-data'],
  };
}

function hasOneCredential(connection: Connection | undefined): boolean {
  // Another check reports a kubeconfig that lacks a part.
  if (!connection) return true;
  const { token, tokenFile, certificate, key } = connection;
  const whole = (certificate === undefined) === (key === undefined);
  return whole && [token, tokenFile, certificate].filter((each) => each !== undefined).length === 1;
}
