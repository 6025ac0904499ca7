import * as client from 'openid-client';
import type { OidcConfig } from './config.js';

/**
 * The metadata of the issuer, fetched when first needed and cached until `refresh` has fetched it again. A failed fetch
 * is not cached.
 */
export interface Issuer {
  configuration(): Promise<client.Configuration>;
  /** Fetches the metadata again, so that an issuer which is gone, or has changed, is noticed. */
  refresh(): Promise<client.Configuration>;
}

const requestSeconds = 10;
/** The largest difference between the clocks of the issuer and this machine, in seconds. */
const clockSeconds = 30;

export function createIssuer(config: OidcConfig): Issuer {
  let known: Promise<client.Configuration> | undefined;
  const refresh = () => {
    const asked = discover(config);
    known ??= asked;
    asked.then(
      () => {
        known = asked;
      },
      () => {
        if (known === asked) known = undefined;
      },
    );
    return asked;
  };
  return { configuration: () => known ?? refresh(), refresh };
}

/** Fetches the metadata (OpenID Connect Discovery 1.0); the issuer in the response must be the requested one. */
async function discover(config: OidcConfig): Promise<client.Configuration> {
  const insecure = config.allow_insecure_issuer ? [client.allowInsecureRequests] : [];
  const found = await client.discovery(new URL(config.issuer), config.client_id, undefined, client.None(), {
    execute: insecure,
    timeout: requestSeconds,
  });
  const metadata = { [client.clockTolerance]: clockSeconds };
  const server = found.serverMetadata();
  const configuration = new client.Configuration(server, config.client_id, metadata, authentication(config, server));
  configuration.timeout = requestSeconds;
  // The ID token arrives over TLS, or from the local machine; its signature is checked nevertheless.
  for (const extend of [...insecure, client.enableNonRepudiationChecks]) extend(configuration);
  return configuration;
}

function authentication(config: OidcConfig, server: client.ServerMetadata): client.ClientAuth {
  if (config.client_secret === undefined) return client.None();
  const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const post = supported.includes('client_secret_post') && !supported.includes('client_secret_basic');
  const method = config.token_endpoint_auth_method ?? (post ? 'client_secret_post' : 'client_secret_basic');
  return method === 'client_secret_post'
    ? client.ClientSecretPost(config.client_secret)
    : client.ClientSecretBasic(config.client_secret);
}
