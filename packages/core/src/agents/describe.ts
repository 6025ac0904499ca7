import { digestOf } from '@belay/contract/canonical';
import type { Registration } from '@belay/contract/configuration';
import { type Catalog, versionText } from '../configuration/catalog.js';
import { taskQueue } from '../executions/list.js';
import { describeDefinitions } from './definitions.js';

interface Described {
  answer: Omit<Registration, 'signature'>;
  /** The digest of the response as agents receive it, in JSON. */
  digest: string;
}

const described = new WeakMap<Catalog, Described>();

/** Returns the response that describes a catalog to agents, and its digest; both are created once per version. */
export function describeForAgents(catalog: Catalog): Described {
  const ready = described.get(catalog);
  if (ready) return ready;
  const answer = {
    success: true,
    catalog_version: versionText(catalog.version),
    services: {
      workflow_engine: { enabled: true, namespace: 'belay', task_queue: taskQueue },
      llm: describeLlm(catalog.document.services?.llm),
    },
    ...describeDefinitions(catalog),
  };
  // Properties that JSON omits do not arrive, and are not part of the digest.
  const made = { answer, digest: digestOf(JSON.parse(JSON.stringify(answer))) };
  described.set(catalog, made);
  return made;
}

/** Returns whether a model is configured and of which kind; never its address or key. */
function describeLlm(llm: unknown): { enabled: boolean; provider: string } {
  if (llm === null || typeof llm !== 'object' || Array.isArray(llm)) return { enabled: false, provider: 'none' };
  const { provider, enabled } = llm as { provider?: unknown; enabled?: unknown };
  const named = typeof provider === 'string' && /^[A-Za-z0-9._-]{1,60}$/.test(provider);
  return enabled === false
    ? { enabled: false, provider: 'none' }
    : { enabled: true, provider: named ? provider : 'other' };
}
