/** A role as a suggester may know it: one that the caller may request, without data of other people. */
export interface SuggestibleRole {
  name: string;
  description: string;
  /** The providers at which the caller may request it. */
  providers: readonly { id: string; name: string; description: string; type: string }[];
  /** The access that it gives there, in the providers' own names. */
  gives: readonly string[];
  /** ISO 8601. */
  maxDuration: string;
  defaultDuration: string;
}

export interface SuggestionQuestion {
  /** The text that a person wrote or pasted. It is treated as data only. */
  text: string;
  roles: readonly SuggestibleRole[];
  now: Date;
}

/** One result of a suggester. It is not trusted: `settleSuggestions` compares it with what the caller may request. */
export interface SuggestedRole {
  role: string;
  providers?: readonly string[] | undefined;
  /** ISO 8601. */
  duration?: string | undefined;
  /** Above 0; comparable only within one question. */
  score: number;
  /** The words that led to this role. */
  why: readonly string[];
}

/** Finds roles for words, best first; returns an empty list when no role fits. When it throws, another suggester is used. */
export interface Suggester {
  suggest(question: SuggestionQuestion, signal: AbortSignal): Promise<readonly SuggestedRole[]>;
}

/** The language model that the configuration names, if any. */
export interface ModelSuggester {
  /** The suggester in force; undefined when none is configured or the limit of concurrent questions is reached. */
  current(): Suggester | undefined;
  /** How long a response is waited for, in milliseconds. */
  readonly patience: number;
  /** Returns `not configured`, `healthy`, or `degraded: …`; never throws. The lexical matcher works in every case. */
  health(): Promise<string>;
}
