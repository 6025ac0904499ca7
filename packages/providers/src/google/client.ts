import type { ServiceTools } from '../services/port.js';

interface Settings {
  credentials?: string | undefined;
  endpoint?: string | undefined;
}

/** What every client of Google is made with: over HTTP, since gRPC would bring a second network stack of its own. */
export function clientSettings({ credentials, endpoint }: Settings) {
  const url = endpoint === undefined ? undefined : new URL(endpoint);
  return {
    fallback: true as const,
    ...(credentials !== undefined && { credentials: JSON.parse(credentials) as Record<string, unknown> }),
    ...(url && {
      apiEndpoint: url.hostname,
      port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
      protocol: url.protocol.slice(0, -1),
    }),
  };
}

/** Retries are ours, so that all services wait equally long. */
export function callSettings(tools: ServiceTools) {
  return { timeout: tools.timeout ?? 3_000, retry: null };
}
