import { guardBy, untilAborted } from '../abort.js';
import { Retryable, Terminal } from '../errors.js';
import { boundedFetch } from '../http/bounded-fetch.js';
import { answerJsonSchema, answerSchema } from './answer.js';
import { type LanguageModelConfig, languageModelConfig } from './config.js';
import { describeQuestion, instructions, type Question } from './question.js';

export interface LanguageModel {
  /**
   * Returns roles that match the question, best first. Throws `Terminal` for more than 500 roles, and an error when the
   * response does not arrive or does not match its schema.
   */
  suggest(
    question: Question,
    signal: AbortSignal,
  ): Promise<{ role: string; providers: string[]; duration: string | undefined; score: number; why: string[] }[]>;
  /**
   * Checks that the endpoint responds and accepts the key, by its list of models. Throws `Terminal` for a rejected key,
   * `Retryable` for another error status, and when the endpoint does not respond.
   */
  check(signal: AbortSignal): Promise<void>;
}

const guarded = guardBy((error) =>
  error instanceof Retryable || error instanceof Terminal
    ? error
    : new Retryable('The endpoint cannot be reached', { cause: error }),
);
/** The largest response, in bytes: a response has a few hundred bytes, and vendors wrap it in more. */
const maximumBytes = 256 * 1024;
const maximumTokens = 1_000;
/** The most roles in one question: a larger prompt would cost too much; the lexical matcher has no limit. */
const mostRoles = 500;

/**
 * Creates the client of a language model from `services.llm`. The vendor's code is loaded only here. Throws when the
 * configuration is not valid. Nothing is retried, because the caller has another matcher.
 */
export async function openLanguageModel(input: unknown): Promise<LanguageModel> {
  const parsed = languageModelConfig.safeParse(input);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Terminal(`services.llm.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`);
  }
  const config = parsed.data;
  const fetch = boundedFetch(maximumBytes);
  // The vendor's code would write to the console, which belongs to the operator.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const [{ generateText, jsonSchema, Output }, model] = await Promise.all([import('ai'), openModel(config, fetch)]);
  return {
    async suggest(question, signal) {
      if (question.roles.length > mostRoles)
        throw new Terminal(
          `The catalog offers more than ${mostRoles} roles, which is the limit for the language model`,
        );
      const schema = jsonSchema(answerJsonSchema(question.roles), {
        validate: (value) => {
          const checked = answerSchema.safeParse(value);
          return checked.success
            ? { success: true, value: checked.data }
            : { success: false, error: new Terminal('The response of the language model does not match its schema') };
        },
      });
      const { output } = await untilAborted(
        generateText({
          model,
          system: instructions,
          prompt: describeQuestion(question),
          output: Output.object({ schema, name: 'suggestion' }),
          maxOutputTokens: maximumTokens,
          maxRetries: 0,
          abortSignal: signal,
        }),
        signal,
      );
      return output.candidates.map(({ role, providers, duration }, index) => ({
        role,
        providers,
        duration: duration ?? undefined,
        score: 1 / (index + 1),
        // The reasons of a model are never shown: they could be text from the author of the request.
        why: [],
      }));
    },
    check: (signal) =>
      guarded(signal, async () => {
        const response = await fetch(`${config.base_url.replace(/\/$/, '')}/models`, {
          headers: credentialsOf(config),
          signal,
        });
        if (response.status === 401 || response.status === 403) throw new Terminal('The endpoint rejected the API key');
        // Not every compatible server lists its models; a 404 or 405 shows that it responds.
        if (!response.ok && response.status !== 404 && response.status !== 405) {
          throw new Retryable(`The endpoint returned status ${response.status}`);
        }
      }),
  };
}

function credentialsOf({ provider, api_key }: LanguageModelConfig): Record<string, string> {
  if (api_key === undefined) return {};
  return provider === 'anthropic'
    ? { 'x-api-key': api_key, 'anthropic-version': '2023-06-01' }
    : { authorization: `Bearer ${api_key}` };
}

async function openModel(config: LanguageModelConfig, fetch: typeof globalThis.fetch) {
  const baseURL = config.base_url.replace(/\/$/, '');
  if (config.provider === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    // An empty key rather than none: the vendor's code would otherwise take one from the environment.
    return createAnthropic({ baseURL, apiKey: config.api_key ?? '', fetch })(config.model);
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({
    name: 'llm',
    baseURL,
    ...(config.api_key === undefined ? {} : { apiKey: config.api_key }),
    supportsStructuredOutputs: config.structured_output,
    fetch,
  })(config.model);
}
