import type { ErrorIssue } from '@belay/contract/errors';
import { canonicalJson } from '../canonical.js';
import { type ResolveReference, resolveReferences } from '../configuration/references.js';
import type { CatalogSource, Logger } from '../context.js';
import type { ModelSuggester, Suggester } from '../suggester.js';

/** A language model that is ready to be asked. */
export interface OpenModel extends Suggester {
  /** Asks whether it can be reached with its key; throws with a message fit for an operator. */
  check(signal: AbortSignal): Promise<void>;
}

export interface ConfigureOptions {
  catalog: CatalogSource;
  resolve: ResolveReference;
  /** Checks the configuration, its references resolved, and makes the client; loads the vendor's code. Throws. */
  open(config: unknown): Promise<OpenModel>;
  log: Logger;
  /** The process's own clock, in milliseconds. */
  now(): number;
  /** How long an answer is waited for, in milliseconds; ten seconds by default. */
  patience?: number;
}

/** Questions to the model at one time; whoever comes beyond that is answered by the lexical matcher. */
const mostAtOnce = 4;
/** How long what a check found is told again, in milliseconds: every look at /health would be a call to the vendor. */
const checkAge = 30_000;
const checkTimeout = 1_500;

interface Configured {
  fingerprint: string;
  model: Promise<OpenModel>;
  busy: number;
  /** Whether the latest question failed; undefined before the first. */
  failed: boolean | undefined;
  checked: { at: number; health: Promise<string> } | undefined;
}

/**
 * The language model of `services.llm` (docs/architecture.md, section 11), made when it is first needed and made anew when its configuration
 * changes. Without one, or while it fails, the lexical matcher answers alone.
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
    configured = { fingerprint, model, busy: 0, failed: undefined, checked: undefined };
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
      if (found.checked === undefined || options.now() - found.checked.at >= checkAge) {
        found.checked = { at: options.now(), health: check(found) };
      }
      const health = await found.checked.health;
      return health === 'healthy' && found.failed === true ? 'degraded: the latest question was not answered' : health;
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

  async function check(found: Configured): Promise<string> {
    const model = await found.model.catch(() => undefined);
    if (model === undefined) return 'degraded: the configuration cannot be used';
    try {
      await model.check(AbortSignal.timeout(checkTimeout));
      return 'healthy';
    } catch (error) {
      options.log.warn({ error }, 'the language model is not healthy');
      return 'degraded: it does not answer, or refuses the key';
    }
  }
}
