import { formatDuration } from '@belay/contract/durations';
import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { Suggestion } from '@belay/contract/suggestions';
import { requireUser } from '../actor.js';
import { type Breathe, breatheBy } from '../breathe.js';
import type { ActorStore } from '../context.js';
import { readNow } from '../now.js';
import type { ModelSuggester, SuggestedRole, SuggestionQuestion } from '../suggester.js';
import { readWishedDuration } from '../suggestions/durations.js';
import { lexicalSuggester } from '../suggestions/lexical.js';
import { listRequestable } from '../suggestions/requestable.js';
import { type SettledSuggestion, settleSuggestions } from '../suggestions/settle.js';
import { requireText } from '../text.js';

/** A caller's context, and the language model where one is configured. */
export interface SuggestionContext extends ActorStore {
  suggester?: ModelSuggester | undefined;
}

/**
 * Suggests a role, duration, providers and workflow for a text (POST /elevate/llm). It only reads: nothing is started,
 * stored or granted, and a request based on the result passes through `requestElevation` like any other
 * (docs/architecture.md, section 9). Only roles that the caller may request are passed to the suggester, and only such
 * roles are returned. Throws `invalid`.
 */
export async function suggestElevation(ctx: SuggestionContext, input: { reason: string }): Promise<Suggestion> {
  const user = requireUser(ctx);
  const text = requireText(input.reason, 'reason', limits.reason).trim();
  if (text === '') throw invalid('reason', 'is required');
  const now = await readNow(ctx.db);
  const breathe = breatheBy(() => ctx.clock().getTime());
  const shown = await listRequestable(ctx, user, ctx.catalog.current(), breathe);
  const roles = [...shown.values()].map(({ described }) => described);
  const { answers, engine } = await answer(ctx, { text, roles, now }, breathe);
  // Read again: a model takes time, and the catalog in force may have changed.
  const catalog = ctx.catalog.current();
  return publish(settleSuggestions(catalog, await listRequestable(ctx, user, catalog, breathe), answers), engine);
}

interface Answered {
  answers: readonly SuggestedRole[];
  engine: 'lexical' | 'model';
}

async function answer(ctx: SuggestionContext, question: SuggestionQuestion, breathe: Breathe): Promise<Answered> {
  const model = question.roles.length === 0 ? undefined : ctx.suggester?.current();
  if (model && ctx.suggester) {
    try {
      const answers = await model.suggest(question, AbortSignal.timeout(ctx.suggester.patience));
      const offered = new Set(question.roles.map(({ name }) => name));
      const sound = answers.filter(({ role }) => offered.has(role));
      // Roles outside the list are left out, and a response that names only such roles is not used.
      if (sound.length > 0 || answers.length === 0) return { answers: withOwnWords(sound, question), engine: 'model' };
      ctx.log.warn({}, 'the language model named roles that are not in its list; the lexical matcher is used instead');
    } catch (error) {
      ctx.log.warn({ error }, 'the language model did not respond; the lexical matcher is used instead');
    }
  }
  const lexical = lexicalSuggester(ctx.catalog.current(), breathe);
  return { answers: await lexical.suggest(question, new AbortController().signal), engine: 'lexical' };
}

/** Prefers a duration that the text states to the one of a model. */
function withOwnWords(answers: readonly SuggestedRole[], { text, now }: SuggestionQuestion): SuggestedRole[] {
  const stated = readWishedDuration(text, now);
  return answers.map((one) => (stated === undefined ? one : { ...one, duration: formatDuration(stated) }));
}

function publish(suggestions: readonly SettledSuggestion[], engine: 'lexical' | 'model'): Suggestion {
  const [best, ...others] = suggestions;
  return {
    status: best ? 'suggested' : 'no_match',
    output: {
      ...shape(best),
      matched: best?.why ?? [],
      engine,
      alternatives: others.map(shape),
    },
  };
}

function shape(suggestion: SettledSuggestion | undefined) {
  return {
    suggested_role: suggestion?.role ?? '',
    suggested_duration: suggestion?.duration ?? '',
    suggested_providers: suggestion?.providers ?? [],
    workflow_id: suggestion?.workflow ?? '',
  };
}
