import { canonicalJson } from '@belay/contract/canonical';
import type { ErrorIssue } from '@belay/contract/errors';
import { type ResolveReference, resolveReferences } from '../configuration/references.js';
import type { CatalogSource, Logger } from '../context.js';
import { createProbe } from '../probe.js';
import type { ModelSuggester, Suggester } from '../suggester.js';

/** A language model that is ready for questions. */
export interface OpenModel extends Suggester {
  /** Checks that it can be reached with its key; throws with a message for an operator. */
  check(signal: AbortSignal): Promise<void>;
}

export interface ConfigureOptions {
  catalog: CatalogSource;
  resolve: ResolveReference;
  /**
   * Checks the configuration, with its references resolved, and creates the client; loads the vendor's code. Throws
   * when one of these fails.
   */
  open(config: unknown): Promise<OpenModel>;
  log: Logger;
  /** The process's own clock, in milliseconds. */
  now(): number;
  /** How long a response is waited for, in milliseconds; 10,000 by default. */
  patience?: number;
}

/** The limit of concurrent questions to the model; above it the lexical matcher is used. */
const mostAtOnce = 4;

interface Configured {
  fingerprint: string;
  model: Promise<OpenModel>;
  busy: number;
  /** Whether the latest question failed; undefined before the first. */
  failed: boolean | undefined;
  health(): Promise<string>;
}

/**
 * Creates the language model of `services.llm` (docs/architecture.md, section 11), when it is first needed and again
 * when its configuration changes. Without one, or while it fails, only the lexical matcher is used.
 */
export function configureSuggester(options: ConfigureOptions): ModelSuggester {
  let configured: Configured | undefined;

  function find(): Configured | undefined {
    const definition = options.catalog.current().document.services?.llm;
    if (definition === undefined || definition === null) {
      configured = undefined;
      return undefined;
    }
    const issues: ErrorIssue[] = [];
    const config = resolveReferences(definition, 'services.llm', options.resolve, issues);
    const fingerprint = canonicalJson(config);
    if (configured?.fingerprint === fingerprint) return configured;
    const [issue] = issues;
    const model = issue ? Promise.reject(new Error(`${issue.path}: ${issue.message}`)) : options.open(config);
    model.catch((error: unknown) => options.log.error({ error }, 'the language model of services.llm cannot be used'));
    const check = async (signal: AbortSignal) => (await model).check(signal);
    const health = createProbe({ name: 'the language model', check, log: options.log, now: options.now });
    configured = { fingerprint, model, busy: 0, failed: undefined, health };
    return configured;
  }

  return {
    patience: options.patience ?? 10_000,
    current() {
      const found = find();
      return found === undefined || found.busy >= mostAtOnce ? undefined : askOne(found);
    },
    async health() {
      const found = find();
      if (found === undefined) return 'not configured';
      const usable = await found.model.then(
        () => true,
        () => false,
      );
      if (!usable) return 'degraded: the configuration cannot be used';
      const health = await found.health();
      return health === 'healthy' && found.failed === true ? 'degraded: the latest request got no response' : health;
    },
  };

  function askOne(found: Configured): Suggester {
    return {
      async suggest(question, signal) {
        found.busy += 1;
        try {
          const answers = await (await found.model).suggest(question, signal);
          found.failed = false;
          return answers;
        } catch (error) {
          found.failed = true;
          throw error;
        } finally {
          found.busy -= 1;
        }
      },
    };
  }
}
