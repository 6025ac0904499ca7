import type { ServiceTools } from '../services/port.js';

interface Settings {
  credentials?: string | undefined;
  endpoint?: string | undefined;
}

/** Returns the options of every Google client. Clients use HTTP, because gRPC would add a second network stack. */
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

/** Returns the options of every call. The library does not retry: Belay does, with the same limits for all services. */
export function callSettings(tools: ServiceTools) {
  return { timeout: tools.timeout ?? 3_000, retry: null };
}
