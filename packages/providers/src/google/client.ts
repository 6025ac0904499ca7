import { z } from 'zod';
import { Terminal } from '../errors.js';
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
    ...(credentials !== undefined && { credentials: parseCredentials(credentials) }),
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

/** Throws `Terminal` without a word of the text, which is a secret. */
function parseCredentials(text: string): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch {
    throw new Terminal('credentials is not the JSON of a credentials file');
  }
}
